// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"iter"
	"maps"

	"prywalk/internal/procmem"
)

// # New processes by their numbers
//
// Without the kernel's records: numbers are assigned in order, and the last one is known. Those since the previous tick
// are new tasks; one read of /proc gives the parent of each.

const (
	// maxNumbers bounds the numbers read at a tick; of more, each n-th is read.
	maxNumbers     = 64
	maxNewChildren = 128
	// markedFor is how long a process counts as new, ns. After that it cannot be opened: it is read every lastingEvery,
	// at most for lastingFor.
	markedFor    = 200e6
	lastingEvery = 50e6
	lastingFor   = 10e9
	// firstNumber is the lowest number after the counter wraps (RESERVED_PIDS, kernel/pid.c).
	firstNumber = 300
)

// ChildFinder finds new processes by number. O is the caller's value of a tracked process, never zero; K that of an
// untracked one. Not safe for concurrent use.
type ChildFinder[O comparable, K any] struct {
	tracked  map[int]O
	forks    map[int]*forkCounts // of tracked processes
	children map[int]*NewChild[O, K]
	last     int // last assigned number; 0: unknown

	budget     *procmem.FDBudget
	stat       func(f *procmem.ThreadFiles, s *procmem.Stat) error
	parent     func(pid int) (parent int, ok bool)
	clock      func(pid int) (uint64, error)
	beforeRead func() // before each read of /proc

	pin, unpin func() // around reads of known processes
}

// NewChild is a new process that is not tracked yet.
type NewChild[O comparable, K any] struct {
	PID    int
	Waiter O // nearest tracked ancestor
	Files  *procmem.ThreadFiles
	Value  K
	Times  []NameTime // up to the last read

	parent    int
	execKnown bool
	start     uint64
	since     int64 // discovery, CLOCK_MONOTONIC ns
	readAt    int64 // last read, CLOCK_MONOTONIC ns
	cpu       int64 // CPU time at that read, ns
	comm      procmem.Comm
}

// NameTime is a process's CPU time under one name, ns.
type NameTime struct {
	Name string
	NS   int64
}

// NewChildFinder returns an empty set, which keeps files open within the budget.
func NewChildFinder[O comparable, K any](budget *procmem.FDBudget) *ChildFinder[O, K] {
	return &ChildFinder[O, K]{
		tracked: map[int]O{}, forks: map[int]*forkCounts{}, children: map[int]*NewChild[O, K]{}, budget: budget,
		stat: (*procmem.ThreadFiles).Stat, parent: parent,
		clock: procmem.ProcessCPU, beforeRead: func() {}, pin: func() {}, unpin: func() {},
	}
}

// BeforeReads sets a function called before each read of /proc, which may wait for an exec.
func (n *ChildFinder[O, K]) BeforeReads(f func()) { n.beforeRead = f }

// PinReads sets functions around reads of a known process, in which the caller must not yield.
func (n *ChildFinder[O, K]) PinReads(pin, unpin func()) { n.pin, n.unpin = pin, unpin }

// parent fails for an ended process and for a thread. It reads status: a read of stat waits for an exec
// (fs/proc/array.c, do_task_stat).
func parent(pid int) (int, bool) {
	var s procmem.Status
	err := procmem.ReadStatus(pid, &s)
	return s.PPid, err == nil && s.Tgid == pid && s.State != 'Z'
}

// Track removes and returns the entry of a process that is tracked from now on; nil: none.
func (n *ChildFinder[O, K]) Track(pid int, as O) *NewChild[O, K] {
	before := n.children[pid]
	if before != nil {
		before.Files.Close()
	}
	n.tracked[pid] = as
	delete(n.children, pid)
	delete(n.forks, pid)
	for _, y := range n.children {
		if y.parent == pid {
			y.Waiter = as
		}
	}
	return before
}

// Forget notes the end of a tracked process, whose number may be reused.
func (n *ChildFinder[O, K]) Forget(pid int, as O) {
	if n.tracked[pid] == as {
		delete(n.tracked, pid)
		delete(n.forks, pid)
	}
}

// Advanced reports whether numbers were assigned since the last Search.
func (n *ChildFinder[O, K]) Advanced(last int) bool { return last != n.last }

// Search searches the numbers up to last, the last assigned one (0: unknown), for descendants of tracked processes.
func (n *ChildFinder[O, K]) Search(last int, now int64) {
	before := n.last
	if n.last = last; before == 0 || last == 0 || before == last || len(n.tracked) == 0 {
		return
	}
	if last < before {
		before = min(firstNumber, last) - 1 // the counter wrapped
	}
	step := (last-before-1)/maxNumbers + 1
	for pid := before + 1 + (last-before-1)%step; pid <= last; pid += step {
		n.examine(pid, now)
	}
}

func (n *ChildFinder[O, K]) examine(pid int, now int64) {
	if _, tracked := n.tracked[pid]; tracked || len(n.children) >= maxNewChildren {
		return
	}
	n.beforeRead()
	parent, ok := n.parent(pid)
	if !ok {
		return
	}
	waiter, ok := n.tracked[parent]
	if y := n.children[parent]; !ok && y != nil {
		waiter, ok = y.Waiter, true
	}
	if !ok {
		return
	}
	var s procmem.Stat
	files := procmem.OpenThread(pid, pid, n.budget)
	_ = files.OpenDir() // if it has ended, its stat shows that
	if n.stat(files, &s) != nil || s.State == 'Z' || s.PPID != parent {
		files.Close()
		return
	}
	n.children[pid] = &NewChild[O, K]{
		Waiter: waiter, PID: pid, Files: files, parent: parent, start: s.StartTime, since: now,
	}
}

// Tick calls runs with each new process whose first thread is on or waits for a processor. It yields, and forgets,
// those that have ended or (over) are read no more.
func (n *ChildFinder[O, K]) Tick(
	now int64, runs func(*NewChild[O, K], *procmem.Stat),
) iter.Seq2[*NewChild[O, K], bool] {
	return func(yield func(y *NewChild[O, K], over bool) bool) {
		for pid, y := range n.children {
			age := now - y.since
			if age > markedFor && now-y.readAt < lastingEvery {
				continue
			}
			y.readAt = now
			n.beforeRead()
			n.pin()
			cpu, _ := n.clock(pid) // fails if it is gone
			var s procmem.Stat
			err := n.stat(y.Files, &s)
			n.unpin()
			ended := err != nil || s.StartTime != y.start || s.State == 'X' // a zombie may still be tracked
			if ended || age > lastingFor {
				delete(n.children, pid)
				goesOn := yield(y, !ended)
				if y.Files.Close(); !goesOn {
					return
				}
				continue
			}
			n.noteExec(y, &s)
			if y.addUse(&s.Comm, int64(cpu)); age <= markedFor && s.State == 'R' {
				runs(y, &s)
			}
		}
	}
}

// # Which processes call exec
//
// Children of a shell mostly do, of a server mostly do not; PF_FORKNOEXEC shows it.

type forkCounts struct {
	never int // children that ended without exec
	exec  bool
}

// minForks is the number of children without exec from which on the others count as alike.
const minForks = 8

// Flags of include/linux/sched.h.
const (
	exiting    = 0x04 // PF_EXITING
	beforeExec = 0x40 // PF_FORKNOEXEC: forked, no exec since
)

func (n *ChildFinder[O, K]) noteExec(y *NewChild[O, K], s *procmem.Stat) {
	before := s.Flags&beforeExec != 0
	if _, tracked := n.tracked[y.parent]; y.execKnown || !tracked || before && s.Flags&exiting == 0 && s.State != 'Z' {
		return
	}
	f := n.forks[y.parent]
	if f == nil {
		f = &forkCounts{}
		n.forks[y.parent] = f
	}
	if y.execKnown = true; before {
		f.never++
	} else {
		f.exec = true
	}
}

// MayExec reports whether a process may be about to call exec: it has not, and its siblings are not known never to.
func (n *ChildFinder[O, K]) MayExec(y *NewChild[O, K], s *procmem.Stat) bool {
	f := n.forks[y.parent]
	return s.Flags&beforeExec != 0 && (f == nil || f.exec || f.never < minForks)
}

// NoteExec notes that a tracked process runs another program.
func (n *ChildFinder[O, K]) NoteExec(pid int) { delete(n.forks, pid) }

const maxNames = 8

func (y *NewChild[O, K]) addUse(name *procmem.Comm, cpu int64) {
	ns := cpu - y.cpu
	if ns <= 0 {
		return
	}
	if last := len(y.Times) - 1; last >= 0 && (*name == y.comm || len(y.Times) == maxNames) {
		y.Times[last].NS += ns
	} else {
		y.Times = append(y.Times, NameTime{name.String(), ns})
	}
	y.cpu, y.comm = cpu, *name
}

// Empty reports whether no new process is known.
func (n *ChildFinder[O, K]) Empty() bool { return len(n.children) == 0 }

// All returns the new processes.
func (n *ChildFinder[O, K]) All() iter.Seq[*NewChild[O, K]] { return maps.Values(n.children) }
