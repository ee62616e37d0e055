// SPDX-License-Identifier: Apache-2.0

package profile

import "encoding/binary"

// # Labels of short-lived threads
//
// A program with a thread per request makes new label sets all the time. So their numbers are valid for an era of the
// journal. A full era's labels are compressed to a fifth and spilled; living threads get new numbers in the next one.

// mostLabels of an era; more take memory, fewer compress more often.
const mostLabels = 1 << 13

// era is its labels by number, or their compressed form after its end.
type era struct {
	list   []labelSet
	packed chunk
}

// The last one is open.
type eras struct {
	all     []era
	numbers map[labelSet]uint32 // of the open era
}

// number numbers an interval's labels. began: a new era.
func (e *eras) number(iv *Interval, s *spill) (n uint32, began bool) {
	k := labelsOf(iv)
	if n, ok := e.numbers[k]; ok {
		return n, false
	}
	if began = len(e.all) == 0 || len(e.numbers) >= mostLabels; began {
		e.begin(s)
	}
	now := &e.all[len(e.all)-1]
	n = uint32(len(now.list))
	now.list = append(now.list, k)
	e.numbers[k] = n
	return n, began
}

func (e *eras) begin(s *spill) {
	if n := len(e.all); n > 0 {
		over := &e.all[n-1]
		*over = era{packed: chunk{bytes: pack(over.list)}}
		if s.on() {
			s.put(&over.packed)
		}
	}
	e.all = append(e.all, era{})
	e.numbers = map[labelSet]uint32{}
}

// uncompressed label sets
func (e *eras) size() int { return len(e.numbers) }

func (e *era) labels() ([]labelSet, error) {
	if e.list != nil {
		return e.list, nil
	}
	var buf []byte
	b, err := e.packed.load(&buf)
	if err != nil {
		return nil, err
	}
	return unpack(b), nil
}

// In the order of packing.
func (l *labelSet) numbers() [5]*int { return [...]*int{&l.pid, &l.tid, &l.nsPID, &l.nsTID, &l.owner} }
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

// The input is trusted.
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

// Labels of samples.
const (
	// LabelPID and LabelTID are numbers. Time of no single thread has no LabelTID.
	LabelPID = "pid"
	LabelTID = "tid"
	// LabelNSPID and LabelNSTID are the numbers in the process's pid namespace, if different.
	LabelNSPID = "ns_pid"
	LabelNSTID = "ns_tid"
	// LabelComm names the process, LabelThread the thread.
	LabelComm   = "comm"
	LabelThread = "thread"
	// LabelRole is the thread's role in its run-time system.
	LabelRole = "role"
	// LabelState is the scheduling state, LabelWait the wait reason.
	LabelState = "state"
	LabelWait  = "wait"
	// LabelWaitsFor is what the thread waits for, LabelOwner the thread that held it at the sleep's first sample, or
	// [OwnerNobody].
	LabelWaitsFor = "waits_for"
	LabelOwner    = "owner"
	// LabelTask is "goroutine" for a sample of no thread.
	LabelTask = "task"
	// LabelEnd is the interval's end, Unix epoch, nanoseconds.
	LabelEnd = "end_timestamp_ns"
)

// NoOwner is the owner of a free lock.
const (
	NoOwner     = -1
	OwnerNobody = "nobody"
)
