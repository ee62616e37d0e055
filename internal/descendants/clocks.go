// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"cmp"

	"prywalk/internal/perfevents"
)

// # What descendants used, by the records of switches
//
// Where the kernel tells of each switch, the time between a thread's coming to a processor and its leaving is known,
// and what it ran then. So each process's processor time is known by program, however shortly it lives. What it uses
// after its record of the end is not: from Linux 6.16 on that is all of exit but its beginning.

// mostSpent bounds how many programs of a process are told apart.
const mostSpent = 16

// Spent is the processor time of a process that nobody has met while it ran a program, in nanoseconds.
type Spent[O comparable] struct {
	Program *Program[O]
	NS      int64
}

// onProcessor is who has a processor, and since when, CLOCK_MONOTONIC ns.
type onProcessor struct {
	pid, tid int
	since    int64
}

// clocks is what the records of switches tell.
type clocks[O comparable, S any] struct {
	on   map[int]onProcessor      // by processor
	met  map[int]*Untracked[O, S] // processes that were met, since their births
	lost int64                    // records that found no room, so far
}

// Meet is [Table.Track] where switches are told. The process's time is counted on.
func (u *Table[O, S]) Meet(pid int, as O) {
	delete(u.clocks.met, pid)
	if before := u.Track(pid, as); before != nil {
		if u.clocks.met == nil {
			u.clocks.met = map[int]*Untracked[O, S]{}
		}
		u.clocks.met[pid] = before
	}
}

// Leave is [Table.Forget] where switches are told. It gives what the process has used in all its life, in nanoseconds;
// 0 if that is not known, or there is more to come.
func (u *Table[O, S]) Leave(pid int, as O) (ns int64) {
	if u.tracked[pid] != as {
		return 0
	}
	u.Forget(pid, as)
	p := u.clocks.met[pid]
	if delete(u.clocks.met, pid); p == nil || !p.Ended {
		return 0
	}
	for _, s := range p.Spent {
		ns += s.NS
	}
	return ns
}

// DrainClocks drains the kernel's records, those of switches included. It gives how many there were.
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
	u.hearAll()
	return n
}

// noteSwitch is note for all that is about clocks, too.
func (u *Table[O, S]) noteSwitch(r *perfevents.Record) {
	switch r.Kind {
	case perfevents.SwitchedIn, perfevents.SwitchedOut, perfevents.Exited:
		u.add(r)
	default:
		u.note(r)
	}
}

// forgetSwitches leaves out what is known of switches since the last drain: one of a pair may have found no room. So
// nobody has time that is another's.
func (u *Table[O, S]) forgetSwitches() {
	clear(u.clocks.on)
	for i := range u.records {
		if k := &u.records[i].Kind; *k == perfevents.SwitchedIn || *k == perfevents.SwitchedOut {
			*k = perfevents.Other
		}
	}
}

// Interrupted takes note that nothing was told for a while.
func (u *Table[O, S]) Interrupted() { clear(u.clocks.on) }

// clock keeps the clocks by a record. It comes before all else that the record says.
func (u *Table[O, S]) clock(r *record) {
	switch {
	case u.clocks.on == nil:
	case r.Kind == perfevents.SwitchedIn:
		u.clocks.on[r.CPU] = onProcessor{r.PID, r.TID, r.Time}
	case r.Kind == perfevents.SwitchedOut:
		u.ran(r)
	case r.Kind == perfevents.Exited:
		u.ran(r)
		if p := u.clocks.met[r.PID]; p != nil && r.PID == r.TID {
			p.Ended = true
		}
	case r.Kind == perfevents.Named && r.Exec && u.ran(r):
		u.clocks.on[r.CPU] = onProcessor{r.PID, r.TID, r.Time}
	}
}

// ran takes note of the time up to a record of the thread that has a processor, and that it has it no more; false if
// that is another thread.
func (u *Table[O, S]) ran(r *record) bool {
	on, ok := u.clocks.on[r.CPU]
	if !ok || on.tid != r.TID {
		return false
	}
	delete(u.clocks.on, r.CPU)
	if p := u.clocks.met[on.pid]; p != nil {
		p.spends(r.Time - on.since)
	} else if p := u.untracked[on.pid]; p != nil {
		p.spends(r.Time - on.since)
	}
	return true
}

// spends takes note of processor time of what the process runs.
func (p *Untracked[O, S]) spends(ns int64) {
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

// byTime orders records. At one moment a switch to a processor comes last: who has left it was there before.
func byTime(a, b record) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(arrives(&a), arrives(&b)))
}

func arrives(r *record) int {
	if r.Kind == perfevents.SwitchedIn {
		return 1
	}
	return 0
}
