// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"cmp"

	"prywalk/internal/perfevents"
)

// # CPU time of unattached descendants
//
// Records of context switches give the time between a thread's arrival on a processor and its departure, and its
// program: the CPU time of each process by program, however short its life. The time after the record of its end
// is missing: from Linux 6.16 on, all of exit but its beginning.

const mostSpent = 16 // programs of a process

// Spent is a process's CPU time in one program, ns.
type Spent[O comparable] struct {
	Program *Program[O]
	NS      int64
}

// onProcessor is the thread on a processor since a moment, CLOCK_MONOTONIC ns.
type onProcessor struct {
	pid, tid int
	since    int64
}

// clocks is the state of the records of switches.
type clocks[O comparable, S any] struct {
	on       map[int]onProcessor      // by processor
	attached map[int]*Untracked[O, S] // since their creation
	lost     int64                    // records lost so far
}

// TrackClocks is [Table.Track] where switches are recorded. The process's time is still counted.
func (u *Table[O, S]) TrackClocks(pid int, as O) {
	delete(u.clocks.attached, pid)
	if before := u.Track(pid, as); before != nil {
		if u.clocks.attached == nil {
			u.clocks.attached = map[int]*Untracked[O, S]{}
		}
		u.clocks.attached[pid] = before
	}
}

// ForgetClocks is [Table.Forget] where switches are recorded. It returns the CPU time of the process's whole life,
// ns; 0: not completely known.
func (u *Table[O, S]) ForgetClocks(pid int, as O) (ns int64) {
	if u.tracked[pid] != as {
		return 0
	}
	u.Forget(pid, as)
	p := u.clocks.attached[pid]
	if delete(u.clocks.attached, pid); p == nil || !p.Ended {
		return 0
	}
	for _, s := range p.Spent {
		ns += s.NS
	}
	return ns
}

// DrainClocks drains the kernel's records, including switches, and returns their number.
func (u *Table[O, S]) DrainClocks(r *perfevents.Reader) (n int) {
	if u.clocks.on == nil {
		u.clocks.on = map[int]onProcessor{}
	}
	u.records, u.names = u.records[:0], u.names[:0]
	r.Drain(u.noteSwitch)
	if lost := r.Lost() + r.Broken(); lost != u.clocks.lost {
		u.clocks.lost = lost
		u.forgetSwitches()
	}
	n = len(u.records)
	u.handleAll()
	return n
}

func (u *Table[O, S]) noteSwitch(r *perfevents.Record) {
	switch r.Kind {
	case perfevents.SwitchedIn, perfevents.SwitchedOut, perfevents.Exited:
		u.add(r)
	default:
		u.note(r)
	}
}

// forgetSwitches drops the switches since the last drain: with one of a pair lost, time would go to another
// process.
func (u *Table[O, S]) forgetSwitches() {
	clear(u.clocks.on)
	for i := range u.records {
		if k := &u.records[i].Kind; *k == perfevents.SwitchedIn || *k == perfevents.SwitchedOut {
			*k = perfevents.Other
		}
	}
}

// Interrupted notes a gap in the records.
func (u *Table[O, S]) Interrupted() { clear(u.clocks.on) }

// clock updates the clocks by a record. It must run before the record's other effects.
func (u *Table[O, S]) clock(r *record) {
	switch {
	case u.clocks.on == nil:
	case r.Kind == perfevents.SwitchedIn:
		u.clocks.on[r.CPU] = onProcessor{r.PID, r.TID, r.Time}
	case r.Kind == perfevents.SwitchedOut:
		u.endRun(r)
	case r.Kind == perfevents.Exited:
		u.endRun(r)
		if p := u.clocks.attached[r.PID]; p != nil && r.PID == r.TID {
			p.Ended = true
		}
	case r.Kind == perfevents.Named && r.Exec && u.endRun(r):
		u.clocks.on[r.CPU] = onProcessor{r.PID, r.TID, r.Time}
	}
}

// endRun counts and ends the time of the thread on the processor up to its record; false: another thread is there.
func (u *Table[O, S]) endRun(r *record) bool {
	on, ok := u.clocks.on[r.CPU]
	if !ok || on.tid != r.TID {
		return false
	}
	delete(u.clocks.on, r.CPU)
	if p := u.clocks.attached[on.pid]; p != nil {
		p.addCPU(r.Time - on.since)
	} else if p := u.untracked[on.pid]; p != nil {
		p.addCPU(r.Time - on.since)
	}
	return true
}

func (p *Untracked[O, S]) addCPU(ns int64) {
	if ns <= 0 {
		return
	}
	last := len(p.Spent) - 1
	if last >= 0 && (p.Spent[last].Program == p.runs || len(p.Spent) == mostSpent) {
		p.Spent[last].NS += ns
		return
	}
	p.Spent = append(p.Spent, Spent[O]{p.runs, ns})
}

// byTime orders records. Of equal times, an arrival comes after the departure from the same processor.
func byTime(a, b record) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(arrivalRank(&a), arrivalRank(&b)))
}

func arrivalRank(r *record) int {
	if r.Kind == perfevents.SwitchedIn {
		return 1
	}
	return 0
}
