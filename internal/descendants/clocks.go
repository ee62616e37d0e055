// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"cmp"

	"prywalk/internal/perfevents"
)

// # CPU time of untracked descendants
//
// Records of context switches give each process's CPU time by program, up to the record of its end; from Linux 6.16 on
// this excludes most of exit.

const maxPrograms = 16 // per process

// ProgramTime is a process's CPU time in one program, ns.
type ProgramTime[Owner comparable] struct {
	Program *Program[Owner]
	NS      int64
}

// since is CLOCK_MONOTONIC ns.
type onCPU struct {
	pid, tid int
	since    int64
}

type clocks[Owner comparable, Sample any] struct {
	on         map[int]onCPU                     // by CPU
	nowTracked map[int]*Untracked[Owner, Sample] // tracked processes with records since their creation
	lost       int64
}

// TrackWithClocks is [Table.Track] that goes on to count the process's time.
func (t *Table[Owner, Sample]) TrackWithClocks(pid int, owner Owner) {
	delete(t.clocks.nowTracked, pid)
	if before := t.Track(pid, owner); before != nil {
		if t.clocks.nowTracked == nil {
			t.clocks.nowTracked = map[int]*Untracked[Owner, Sample]{}
		}
		t.clocks.nowTracked[pid] = before
	}
}

// ForgetWithClocks is [Table.Forget] that returns the recorded CPU time of the process's whole life, ns; 0: its begin
// or end was not recorded. Time at lost records and gaps is missing.
func (t *Table[Owner, Sample]) ForgetWithClocks(pid int, owner Owner) (ns int64) {
	if t.tracked[pid] != owner {
		return 0
	}
	t.Forget(pid, owner)
	p := t.clocks.nowTracked[pid]
	if delete(t.clocks.nowTracked, pid); p == nil || !p.Ended {
		return 0
	}
	for _, s := range p.Times {
		ns += s.NS
	}
	return ns
}

// DrainClocks drains the kernel's records, including switches, and returns their number.
func (t *Table[Owner, Sample]) DrainClocks(r *perfevents.Reader) (n int) {
	if t.clocks.on == nil {
		t.clocks.on = map[int]onCPU{}
	}
	t.records, t.names = t.records[:0], t.names[:0]
	r.Drain(t.add)
	if lost := r.Lost() + r.Broken(); lost != t.clocks.lost {
		t.clocks.lost = lost
		t.forgetSwitches()
	}
	n = len(t.records)
	t.handleAll()
	return n
}

// forgetSwitches drops the switches since the last drain: a lost one would move time to another process.
func (t *Table[Owner, Sample]) forgetSwitches() {
	clear(t.clocks.on)
	for i := range t.records {
		if k := &t.records[i].Kind; *k == perfevents.SwitchedIn || *k == perfevents.SwitchedOut {
			*k = perfevents.Other
		}
	}
}

// NoteGap notes a gap in the records.
func (t *Table[Owner, Sample]) NoteGap() { clear(t.clocks.on) }

// Precondition: the record has had no other effect yet.
func (t *Table[Owner, Sample]) updateClocks(r *record) {
	switch {
	case t.clocks.on == nil:
	case r.Kind == perfevents.SwitchedIn:
		t.clocks.on[r.CPU] = onCPU{r.PID, r.TID, r.Time}
	case r.Kind == perfevents.SwitchedOut || r.Kind == perfevents.Exited:
		t.endRun(r)
	case r.Kind == perfevents.CommSet && r.Exec:
		if t.endRun(r) {
			t.clocks.on[r.CPU] = onCPU{r.PID, r.TID, r.Time}
		}
	}
}

// endRun returns false if another thread is on the CPU. An exec may have given the thread the process's number
// (fs/exec.c, de_thread).
func (t *Table[Owner, Sample]) endRun(r *record) bool {
	on, ok := t.clocks.on[r.CPU]
	if !ok || on.tid != r.TID && !(r.Exec && on.pid == r.PID) {
		return false
	}
	delete(t.clocks.on, r.CPU)
	if p := t.clocks.nowTracked[on.pid]; p != nil {
		p.addCPU(r.Time - on.since)
	} else if p := t.untracked[on.pid]; p != nil {
		p.addCPU(r.Time - on.since)
	}
	return true
}

func (p *Untracked[Owner, Sample]) addCPU(ns int64) {
	if ns <= 0 {
		return
	}
	last := len(p.Times) - 1
	if last >= 0 && (p.Times[last].Program == p.runs || len(p.Times) == maxPrograms) {
		p.Times[last].NS += ns
		return
	}
	p.Times = append(p.Times, ProgramTime[Owner]{p.runs, ns})
}

// byTime orders by time, a departure from a CPU before an arrival at the same time.
func byTime(a, b record) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(arrivalRank(&a), arrivalRank(&b)))
}

func arrivalRank(r *record) int {
	if r.Kind == perfevents.SwitchedIn {
		return 1
	}
	return 0
}
