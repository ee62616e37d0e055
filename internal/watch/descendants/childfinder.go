// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"iter"
	"maps"

	"prywalk/internal/host/procmem"
)

// # New processes by their numbers
//
// Without the kernel's records: numbers are assigned in order, and the last one is known. One read of /proc gives the
// parent of each number assigned since the previous tick.

const (
	// Of more numbers at a tick, each n-th is read.
	maxNumbers     = 64
	maxNewChildren = 128
	// A process counts as new up to this age, ns. Later it is read every lastingEvery, at most for lastingFor.
	markedFor    = 200e6
	lastingEvery = 50e6
	lastingFor   = 10e9
	// the lowest number after the counter wraps (RESERVED_PIDS, kernel/pid.c)
	firstNumber = 300
)

// ChildFinder finds new processes by number. Owner is the caller's value of a tracked process, never zero; Value that
// of a new one. Not safe for concurrent use.
type ChildFinder[Owner comparable, Value any] struct {
	tracked  map[int]Owner
	children map[int]*Child[Owner, Value]
	last     int // last assigned number; 0: unknown

	budget *procmem.FDBudget
	stat   func(f *procmem.ThreadFiles, s *procmem.Stat) error
	parent func(pid int) (parent int, ok bool)

	// BeforeRead is called before each read of /proc, which may wait for an exec. Pin and Unpin are called around reads
	// of a known process, in which the caller must not yield.
	BeforeRead, Pin, Unpin func()
}

// Child is a new process that is not tracked yet.
type Child[Owner comparable, Value any] struct {
	PID      int
	Ancestor Owner // nearest tracked ancestor when found; a parent that is tracked later replaces it
	Files    *procmem.ThreadFiles
	Value    Value

	parent int
	start  uint64
	since  int64 // discovery, CLOCK_MONOTONIC ns
	readAt int64 // CLOCK_MONOTONIC ns, as since
}

// NewChildFinder returns a finder that tracks no process, and opens files within the budget.
func NewChildFinder[Owner comparable, Value any](budget *procmem.FDBudget) *ChildFinder[Owner, Value] {
	return &ChildFinder[Owner, Value]{
		tracked: map[int]Owner{}, children: map[int]*Child[Owner, Value]{},
		budget: budget, stat: (*procmem.ThreadFiles).Stat, parent: parent,
		BeforeRead: func() {}, Pin: func() {}, Unpin: func() {},
	}
}

// parent fails for an ended process and for a thread. A read of stat would wait for an exec (fs/proc/array.c,
// do_task_stat).
func parent(pid int) (int, bool) {
	var s procmem.Status
	err := procmem.ReadStatus(pid, &s)
	return s.PPid, err == nil && s.Tgid == pid && s.State != 'Z'
}

// Track returns and removes the entry of a process that is tracked from now on, or nil.
func (f *ChildFinder[Owner, Value]) Track(pid int, owner Owner) *Child[Owner, Value] {
	before := f.children[pid]
	if before != nil {
		before.Files.Close()
	}
	f.tracked[pid] = owner
	delete(f.children, pid)
	for _, child := range f.children {
		if child.parent == pid {
			child.Ancestor = owner
		}
	}
	return before
}

// Forget notes the end of a tracked process, whose number may be reused.
func (f *ChildFinder[Owner, Value]) Forget(pid int, owner Owner) {
	if f.tracked[pid] == owner {
		delete(f.tracked, pid)
	}
}

// Advanced reports whether numbers were assigned since the last Search.
func (f *ChildFinder[Owner, Value]) Advanced(last int) bool { return last != f.last }

// Search examines the numbers up to last, the last assigned one (0: unknown).
func (f *ChildFinder[Owner, Value]) Search(last int, now int64) {
	before := f.last
	if f.last = last; before == 0 || last == 0 || before == last || len(f.tracked) == 0 {
		return
	}
	if last < before {
		before = min(firstNumber, last) - 1 // the counter wrapped
	}
	step := (last-before-1)/maxNumbers + 1
	for pid := before + 1 + (last-before-1)%step; pid <= last; pid += step {
		f.examine(pid, now)
	}
}

func (f *ChildFinder[Owner, Value]) examine(pid int, now int64) {
	if _, tracked := f.tracked[pid]; tracked || len(f.children) >= maxNewChildren {
		return
	}
	f.BeforeRead()
	parent, ok := f.parent(pid)
	if !ok {
		return
	}
	ancestor, ok := f.tracked[parent]
	if child := f.children[parent]; !ok && child != nil {
		ancestor, ok = child.Ancestor, true
	}
	if !ok {
		return
	}
	var s procmem.Stat
	files := procmem.OpenThread(pid, pid, f.budget)
	_ = files.OpenDir() // stat shows whether it has ended
	if f.stat(files, &s) != nil || s.State == 'Z' || s.PPID != parent {
		files.Close()
		return
	}
	f.children[pid] = &Child[Owner, Value]{
		Ancestor: ancestor, PID: pid, Files: files, parent: parent, start: s.StartTime, since: now,
	}
}

// Tick calls mark with each process that was found at most markedFor ago and whose first thread is on or waits for a
// CPU. It yields, and forgets, those that have ended or (over) are no longer read.
func (f *ChildFinder[Owner, Value]) Tick(
	now int64, mark func(*Child[Owner, Value], *procmem.Stat),
) iter.Seq2[*Child[Owner, Value], bool] {
	return func(yield func(child *Child[Owner, Value], over bool) bool) {
		for pid, child := range f.children {
			age := now - child.since
			if age > markedFor && now-child.readAt < lastingEvery {
				continue
			}
			child.readAt = now
			f.BeforeRead()
			f.Pin()
			var s procmem.Stat
			err := f.stat(child.Files, &s)
			f.Unpin()
			ended := err != nil || s.StartTime != child.start || s.State == 'X' // a zombie may still be tracked
			if ended || age > lastingFor {
				delete(f.children, pid)
				goesOn := yield(child, !ended)
				if child.Files.Close(); !goesOn {
					return
				}
				continue
			}
			if age <= markedFor && s.State == 'R' {
				mark(child, &s)
			}
		}
	}
}

// Empty reports whether no new process is known.
func (f *ChildFinder[Owner, Value]) Empty() bool { return len(f.children) == 0 }

// All returns the new processes.
func (f *ChildFinder[Owner, Value]) All() iter.Seq[*Child[Owner, Value]] {
	return maps.Values(f.children)
}
