// SPDX-License-Identifier: Apache-2.0

// Package descendants keeps account of the descendants of processes as the kernel's records tell of them: whose
// children they are, what they run, and where its code is mapped. So what a process did can be known that nobody
// could open in time. The records are those of births, ends, names and mappings of package perfevents.
package descendants

import (
	"iter"
	"slices"

	"golang.org/x/sys/unix"

	"prywalk/internal/code"
	"prywalk/internal/perfevents"
)

const (
	// mostUntracked bounds how many processes are known by records alone, mostMappings how many mappings each has.
	mostUntracked = 1 << 14
	mostMappings  = 1 << 12
	// mostFormer bounds how many programs are known that each ran before the present one.
	mostFormer = 16
)

// Table is the descendants of some processes that nobody has met, with what their samples S are kept for. O is what the
// caller has of a process that was met, and not the zero value. A Table is for one goroutine.
type Table[O comparable, S any] struct {
	untracked map[int]*Untracked[O, S]
	tracked   map[int]O
	ended     []*Untracked[O, S] // whose numbers are others' by now
	records   []record           // of this drain
	names     []byte             // theirs
	clocks    clocks[O, S]
}

// Untracked is a process that nobody has met.
type Untracked[O comparable, S any] struct {
	// Waiter is the nearest of its ancestors that was met.
	Waiter O
	// Kept is the caller's.
	Kept []S
	// Ended: it has ended.
	Ended bool
	// Spent is what it has used, where switches are told ([Table.DrainClocks]).
	Spent []Spent[O]

	runs *Program[O]
	ran  []formerly[O] // before
}

// Program is what such a process runs. It may be handed to another goroutine after [Program.Keep].
type Program[O comparable] struct {
	// Of is the process that it was forked from and whose code it runs; zero: it runs a program of its own.
	Of O
	// Name is that program's, and Maps is where its code is.
	Name string
	Maps []code.Mapping

	kept bool // it is not written any more
}

// Keep has it left as it is: what comes later is another one.
func (g *Program[O]) Keep() { g.kept = true }

// formerly is what a process ran until it called exec.
type formerly[O comparable] struct {
	program *Program[O]
	until   int64 // CLOCK_MONOTONIC, ns
}

// record is what is needed of a [perfevents.Record], with its name in names.
type record struct {
	Kind                       perfevents.Kind
	Exec                       bool
	PID, TID, PPID, CPU        int
	Time                       int64
	Addr, Len, Off, Dev, Inode uint64

	from, to int
}

// add keeps a record.
func (u *Table[O, S]) add(r *perfevents.Record) {
	from := len(u.names)
	u.names = append(u.names, r.Name...)
	u.records = append(u.records, record{
		Kind: r.Kind, Exec: r.Exec, PID: r.PID, TID: r.TID, PPID: r.PPID, CPU: r.CPU, Time: r.Time,
		Addr: r.Addr, Len: r.Len, Off: r.Off, Dev: r.Dev, Inode: r.Inode, from: from, to: len(u.names),
	})
}

// New gives one without processes.
func New[O comparable, S any]() *Table[O, S] {
	return &Table[O, S]{untracked: map[int]*Untracked[O, S]{}, tracked: map[int]O{}}
}

// Drain drains the kernel's records. What they say of births and programs is heard first, so that take, which is told
// of the others, can ask for it.
func (u *Table[O, S]) Drain(r *perfevents.Reader, take func(*perfevents.Record)) {
	u.records, u.names = u.records[:0], u.names[:0]
	heard := false
	r.DrainTasksFirst(u.note, func(rec *perfevents.Record) {
		if !heard {
			heard = true
			u.hearAll()
		}
		take(rec)
	})
	u.hearAll()
}

// note keeps a record until those of all processors are there: they are in order on each only.
func (u *Table[O, S]) note(r *perfevents.Record) {
	if r.Kind == perfevents.Forked && r.PID == r.PPID || r.Kind == perfevents.Exited && r.PID != r.TID {
		return // a thread of a process
	}
	u.add(r)
}

// hearAll takes note of what the records say, in the order of time.
func (u *Table[O, S]) hearAll() {
	slices.SortStableFunc(u.records, byTime)
	for i := range u.records {
		u.hear(&u.records[i])
	}
	u.records = u.records[:0]
}

func (u *Table[O, S]) hear(r *record) {
	if u.clock(r); r.Kind == perfevents.Exited && r.PID != r.TID {
		return // a thread
	}
	if r.Kind == perfevents.Forked {
		u.born(r)
		return
	}
	p := u.untracked[r.PID]
	if p == nil {
		return
	}
	var none O
	name := u.names[r.from:r.to]
	switch {
	case r.Kind == perfevents.Exited:
		p.Ended = true
	case r.Kind == perfevents.Named && r.Exec:
		if p.ran = append(p.ran, formerly[O]{p.runs, r.Time}); len(p.ran) > mostFormer {
			p.ran = slices.Delete(p.ran, 0, 1)
		}
		p.runs = &Program[O]{Name: string(name)}
	case r.Kind == perfevents.Mapped && p.runs.Of == none && len(p.runs.Maps) < mostMappings:
		p.runs = p.runs.own()
		p.runs.Maps = append(p.runs.Maps, code.Mapping{
			Start: r.Addr, End: r.Addr + r.Len, Offset: r.Off, Dev: r.Dev, Inode: r.Inode, Path: string(name),
			Perm: code.PermRead | code.PermExec,
		})
	}
}

// born takes note of a child of a process that was met, or of another one that was not. Who had its number before has
// ended: that record may have found no room.
func (u *Table[O, S]) born(r *record) {
	if before := u.untracked[r.PID]; before != nil {
		before.Ended = true
		u.ended = append(u.ended, before)
		delete(u.untracked, r.PID)
	}
	if _, met := u.tracked[r.PID]; met || len(u.untracked) >= mostUntracked {
		return
	}
	if p, ok := u.tracked[r.PPID]; ok {
		u.untracked[r.PID] = &Untracked[O, S]{Waiter: p, runs: &Program[O]{Of: p}}
	} else if p := u.untracked[r.PPID]; p != nil {
		p.runs.Keep() // it has two owners
		u.untracked[r.PID] = &Untracked[O, S]{Waiter: p.Waiter, runs: p.runs}
	}
}

// own gives a program that can be written.
func (g *Program[O]) own() *Program[O] {
	if !g.kept {
		return g
	}
	return &Program[O]{Of: g.Of, Name: g.Name, Maps: slices.Clone(g.Maps)}
}

// At gives what the process ran at a moment, CLOCK_MONOTONIC in nanoseconds.
func (p *Untracked[O, S]) At(t int64) *Program[O] {
	for i := range p.ran {
		if t < p.ran[i].until {
			return p.ran[i].program
		}
	}
	return p.runs
}

// Find gives the process with a number, nil if it is none of these.
func (u *Table[O, S]) Find(pid int) *Untracked[O, S] {
	if _, met := u.tracked[pid]; met {
		return nil
	}
	return u.untracked[pid]
}

// Track takes note that a process was met, and gives what there was of it; nil for nothing.
func (u *Table[O, S]) Track(pid int, as O) *Untracked[O, S] {
	before := u.untracked[pid]
	delete(u.untracked, pid)
	u.tracked[pid] = as
	return before
}

// Forget takes note that a process that was met has ended. Its number may be another's by now.
func (u *Table[O, S]) Forget(pid int, as O) {
	if u.tracked[pid] == as {
		delete(u.tracked, pid)
	}
}

// Sweep notes the ends of processes of which there was no record: it may have found no room.
func (u *Table[O, S]) Sweep() {
	for pid, p := range u.untracked {
		p.Ended = p.Ended || unix.Kill(pid, 0) == unix.ESRCH
	}
}

// All gives the processes that nobody has met. Those that have ended are dropped.
func (u *Table[O, S]) All() iter.Seq[*Untracked[O, S]] {
	return func(yield func(*Untracked[O, S]) bool) {
		for n := len(u.ended); n > 0; n = len(u.ended) {
			p := u.ended[n-1]
			if u.ended = u.ended[:n-1]; !yield(p) {
				return
			}
		}
		for pid, p := range u.untracked {
			if p.Ended {
				delete(u.untracked, pid)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// Last gives what the process runs now.
func (p *Untracked[O, S]) Last() *Program[O] { return p.runs }
