// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"strconv"
)

// maxLabelSets is the most label sets of a generation; fewer would be compressed more often.
const maxLabelSets = 1 << 13

// generation is a part of the journal with its own numbers of label sets. A thread per request makes new sets all the
// time: those of an ended generation are packed and spilled.
type generation struct {
	// by number; nil after the generation's end
	sets   []labelSet
	packed chunk
}

type generations struct {
	all     []generation
	numbers map[labelSet]uint32
}

func (e *generations) numberOf(iv *Interval, s *spill) (n uint32, began bool) {
	k := labelsOf(iv)
	if n, ok := e.numbers[k]; ok {
		return n, false
	}
	if began = len(e.all) == 0 || len(e.numbers) >= maxLabelSets; began {
		e.begin(s)
	}
	now := &e.all[len(e.all)-1]
	n = uint32(len(now.sets))
	now.sets = append(now.sets, k)
	e.numbers[k] = n
	return n, began
}

func (e *generations) begin(s *spill) {
	if n := len(e.all); n > 0 {
		over := &e.all[n-1]
		*over = generation{packed: chunk{bytes: pack(over.sets)}}
		if s.enabled() {
			s.write(&over.packed)
		}
	}
	e.all = append(e.all, generation{})
	e.numbers = map[labelSet]uint32{}
}

func (e *generations) size() int { return len(e.numbers) }

func (e *generation) labels() ([]labelSet, error) {
	if e.sets != nil {
		return e.sets, nil
	}
	var buf []byte
	b, err := e.packed.load(&buf)
	if err != nil {
		return nil, err
	}
	return unpack(b), nil
}

func (l *labelSet) numbers() [5]*int {
	return [...]*int{&l.pid, &l.tid, &l.innerPID, &l.innerTID, &l.owner}
}
func (l *labelSet) texts() [8]*string {
	return [...]*string{&l.comm, &l.thread, &l.state, &l.wait, &l.waitsFor, &l.role, &l.task, &l.labels}
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

// unpack decodes what pack wrote; the input is trusted.
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

// Names of samples' labels.
const (
	// Numbers; time of no single thread has no LabelTID.
	LabelPID = "pid"
	LabelTID = "tid"
	// The numbers in the process's pid namespace, if different.
	LabelNSPID  = "ns_pid"
	LabelNSTID  = "ns_tid"
	LabelComm   = "comm"
	LabelThread = "thread"
	LabelRole   = "role"
	LabelState  = "state"
	LabelWait   = "wait"
	// The object waited for, and its owner's tid at the sleep's first sample, or [OwnerNoneText].
	LabelWaitsFor = "waits_for"
	LabelOwner    = "owner"
	// "goroutine" or "coroutine" of a sample without a thread.
	LabelTask = "task"
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
