// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"prywalk/internal/host/container"
)

const maxLabelSets = 1 << 13

// generation is a part of the journal with its own label sets, packed and spilled when it ends: a thread per request
// makes new sets all the time.
type generation struct {
	sets   []labelSet // by number; nil after the generation's end
	packed chunk      // sets, after the end
}

type generations struct {
	all     []generation
	numbers map[labelSet]uint32 // of the last generation
}

func (g *generations) numberOf(iv *Interval, s *spill) (n uint32, began bool) {
	k := labelsOf(iv)
	if n, ok := g.numbers[k]; ok {
		return n, false
	}
	if began = len(g.all) == 0 || len(g.numbers) >= maxLabelSets; began {
		g.begin(s)
	}
	current := &g.all[len(g.all)-1]
	n = uint32(len(current.sets))
	current.sets = append(current.sets, k)
	g.numbers[k] = n
	return n, began
}

func (g *generations) begin(s *spill) {
	if n := len(g.all); n > 0 {
		ended := &g.all[n-1]
		*ended = generation{packed: chunk{bytes: pack(ended.sets)}}
		if s.enabled() {
			s.write(&ended.packed)
		}
	}
	g.all = append(g.all, generation{})
	g.numbers = map[labelSet]uint32{}
}

func (g *generation) labels() ([]labelSet, error) {
	if g.sets != nil {
		return g.sets, nil
	}
	var buf []byte
	b, err := g.packed.load(&buf)
	if err != nil {
		return nil, err
	}
	return unpack(b), nil
}

func (l *labelSet) numbers() [5]*int {
	return [...]*int{&l.PID, &l.TID, &l.InnerPID, &l.InnerTID, &l.Owner}
}

func (l *labelSet) texts() [9]*string {
	return [...]*string{&l.Comm, &l.Thread, &l.Role, &l.State, &l.Wait, &l.WaitsFor, &l.Task, &l.Labels, &l.Container}
}

func pack(list []labelSet) (b []byte) {
	for i := range list {
		for _, n := range list[i].numbers() {
			b = binary.AppendVarint(b, int64(*n))
		}
		for _, s := range list[i].texts() {
			b = append(binary.AppendUvarint(b, uint64(len(*s))), *s...)
		}
	}
	return append(make([]byte, 0, len(b)), b...)
}

// unpack trusts its input.
func unpack(b []byte) (list []labelSet) {
	known := map[string]string{}
	for len(b) > 0 {
		var l labelSet
		for _, n := range l.numbers() {
			*n = int(takeVarint(&b))
		}
		for _, to := range l.texts() {
			n := takeUvarint(&b)
			s, ok := known[string(b[:n])]
			if !ok {
				s = string(b[:n])
				known[s] = s
			}
			*to, b = s, b[n:]
		}
		list = append(list, l)
	}
	return list
}

// Names of labels.
const (
	// Numbers. Time of no single thread has no LabelTID.
	LabelPID = "pid"
	LabelTID = "tid"
	// In the process's pid namespace, if different.
	labelNSPID  = "ns_pid"
	labelNSTID  = "ns_tid"
	LabelComm   = "comm"
	LabelThread = "thread"
	LabelRole   = "role"
	LabelState  = "state"
	LabelWait   = "wait"
	// The object waited for, and its owner's tid at the sleep's first sample, or [OwnerNoneText].
	LabelWaitsFor = "waits_for"
	LabelOwner    = "owner"
	// "goroutine", "asyncio task" or "virtual thread" of a sample without a thread.
	LabelTask = "task"
	// Of an asyncio task, among [Interval.Labels].
	LabelTaskName = "task name"
	// Of the request on which the thread works, among [Interval.Labels]: hexadecimal, by W3C Trace Context.
	LabelTrace = "trace_id"
	LabelSpan  = "span_id"
	// End of the interval, Unix epoch, ns.
	LabelEnd = "end_timestamp_ns"
)

// NoOwner is the owner of a free lock, OwnerNoneText its text.
const (
	NoOwner       = -1
	OwnerNoneText = "nobody"
)

// OwnerText returns an [Interval]'s Owner as text; "": unknown.
func OwnerText(owner int) string {
	switch owner {
	case 0:
		return ""
	case NoOwner:
		return OwnerNoneText
	}
	return strconv.Itoa(owner)
}

// Names of what [labelSet.numbers] and [labelSet.texts] return, in their order.
var (
	numberLabels = [...]string{LabelPID, LabelTID, labelNSPID, labelNSTID, LabelOwner}
	textLabels   = [...]string{LabelComm, LabelThread, LabelRole, LabelState, LabelWait, LabelWaitsFor, LabelTask}
)

const programLabel = "program."

// IsOwnLabel reports whether prywalk sets the label. A program's label (pprof.Do) of such a name gets a prefix.
func IsOwnLabel(key string) bool {
	return key == LabelEnd || slices.Contains(numberLabels[:], key) || slices.Contains(textLabels[:], key)
}

// LabelText encodes a program's labels for [Interval.Labels]: sorted, each name and value after its length.
func LabelText(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, s := range []string{key, labels[key]} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return string(b)
}

// IsContainerLabel reports whether a label names the process's container or pod.
func IsContainerLabel(key string) bool { return slices.Contains(container.Keys[:], key) }

// eachLabel yields a program's labels.
func eachLabel(text string, f func(key, value string)) {
	eachPair(text, func(key, value string) {
		if IsOwnLabel(key) || IsContainerLabel(key) {
			key = programLabel + key
		}
		if key != "" {
			f(key, value)
		}
	})
}

func eachPair(text string, f func(key, value string)) {
	b := []byte(text)
	take := func() string {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			b = nil
			return ""
		}
		s := string(b[size : size+int(n)])
		b = b[size+int(n):]
		return s
	}
	for len(b) > 0 {
		key, value := take(), take()
		f(key, value)
	}
}
