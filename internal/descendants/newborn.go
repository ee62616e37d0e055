// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"iter"
	"maps"

	"prywalk/internal/procmem"
)

// # Newborn processes by their numbers
//
// Without the kernel's records a process that was just born is found by its number: the kernel gives them out in order,
// and tells the last one. So the numbers since the tick before are those of all that was born since, and each is asked
// whose child it is. That takes one read of /proc for each birth, however many processes there are.

const (
	// mostNumbers bounds how many numbers are asked at once. Of more, one in so many is, at the same distance: who is
	// found is found by chance, and stands for itself alone.
	mostNumbers = 64
	// mostNewborn bounds how many are known at once.
	mostNewborn = 128
	// markedFor is for how long a process counts as newborn, in nanoseconds. By then the search for children has found
	// it, or it cannot be opened. It is asked after each lastingEvery from then on, until it is met or has ended: whoever
	// opens it may be late. After lastingFor it is forgotten.
	markedFor    = 200e6
	lastingEvery = 50e6
	lastingFor   = 10e9
	// firstNumber is the lowest number after the kernel has come round (RESERVED_PIDS of kernel/pid.c).
	firstNumber = 300
)

// Newborns finds processes that were just born, by their numbers. O is what the caller has of a process that was met,
// and not the zero value. K is what it keeps of one that was not. It is for one goroutine.
type Newborns[O comparable, K any] struct {
	met   map[int]O
	forks map[int]*forks // of those that were met
	young map[int]*Newborn[O, K]
	last  int // the number that was given out last, 0: not known

	budget  *procmem.Budget
	stat    func(f *procmem.ThreadFiles, s *procmem.Stat) error
	parent  func(pid int) (parent int, ok bool)
	clock   func(pid int) (uint64, error)
	between func() // is called before each question to the kernel

	pin, unpin func() // are called around what is asked of one that is known
}

// Newborn is a process that was just born, and that nobody has opened yet.
type Newborn[O comparable, K any] struct {
	PID int
	// Waiter is the nearest of its ancestors that was met.
	Waiter O
	// Files are those of its first thread.
	Files *procmem.ThreadFiles
	// Kept is the caller's.
	Kept K
	// Used is what it had used when it was last asked after, by what it ran then.
	Used []Use

	parent int
	told   bool // whether it calls exec is known of it
	start  uint64
	since  int64 // when it was found, CLOCK_MONOTONIC ns
	asked  int64 // when it was asked after last
	cpu    int64 // what it had used then, ns
	comm   procmem.Comm
}

// Use is the processor time that a process has used while it had a name, in nanoseconds.
type Use struct {
	Name string
	NS   int64
}

// NewNewborns gives one that knows no process. It keeps files of newborn ones open as far as the budget goes.
func NewNewborns[O comparable, K any](budget *procmem.Budget) *Newborns[O, K] {
	return &Newborns[O, K]{
		met: map[int]O{}, forks: map[int]*forks{}, young: map[int]*Newborn[O, K]{}, budget: budget,
		stat: (*procmem.ThreadFiles).Stat, parent: parent,
		clock: procmem.ProcessCPU, between: func() {}, pin: func() {}, unpin: func() {},
	}
}

// Between has f called before each question to the kernel: a tick can have many, and some wait for an exec.
func (n *Newborns[O, K]) Between(f func()) { n.between = f }

// Pinned has these called around what is asked of a process that is known: the caller must keep its turn meanwhile.
func (n *Newborns[O, K]) Pinned(pin, unpin func()) { n.pin, n.unpin = pin, unpin }

// parent gives the parent of a process; false if it has ended, or the number is that of another thread, as /proc shows
// those, too. To read stat waits until a process has done its exec (fs/proc/array.c, do_task_stat), to read status does
// not: strangers are not waited for.
func parent(pid int) (int, bool) {
	var s procmem.Status
	err := procmem.ReadStatus(pid, &s)
	return s.PPid, err == nil && s.Tgid == pid && s.State != 'Z'
}

// Meet takes note that a process was met, and gives what there was of it; nil for nothing.
func (n *Newborns[O, K]) Meet(pid int, as O) *Newborn[O, K] {
	before := n.young[pid]
	if before != nil {
		before.Files.Close()
	}
	n.met[pid] = as
	delete(n.young, pid)
	delete(n.forks, pid)
	for _, y := range n.young {
		if y.parent == pid {
			y.Waiter = as
		}
	}
	return before
}

// Forget takes note that a process that was met has ended. Its number may be another's by now.
func (n *Newborns[O, K]) Forget(pid int, as O) {
	if n.met[pid] == as {
		delete(n.met, pid)
		delete(n.forks, pid)
	}
}

// Any reports whether there are numbers since the last call of Born.
func (n *Newborns[O, K]) Any(last int) bool { return last != n.last }

// Born looks for descendants of processes that were met among the numbers since the last call. last is the one that was
// given out last, 0 if that is not known.
func (n *Newborns[O, K]) Born(last int, now int64) {
	before := n.last
	if n.last = last; before == 0 || last == 0 || before == last || len(n.met) == 0 {
		return
	}
	if last < before {
		before = min(firstNumber, last) - 1 // it has come round
	}
	step := (last-before-1)/mostNumbers + 1
	for pid := before + 1 + (last-before-1)%step; pid <= last; pid += step {
		n.ask(pid, now)
	}
}

// ask takes a process on if it is a descendant of one that was met.
func (n *Newborns[O, K]) ask(pid int, now int64) {
	if _, met := n.met[pid]; met || len(n.young) >= mostNewborn {
		return
	}
	n.between()
	parent, ok := n.parent(pid)
	if !ok {
		return
	}
	waiter, ok := n.met[parent]
	if y := n.young[parent]; !ok && y != nil {
		waiter, ok = y.Waiter, true
	}
	if !ok {
		return
	}
	var s procmem.Stat
	files := procmem.OpenThread(pid, pid, n.budget)
	_ = files.Hold() // it is gone, else, which its stat tells
	if n.stat(files, &s) != nil || s.State == 'Z' || s.PPID != parent {
		files.Close()
		return
	}
	n.young[pid] = &Newborn[O, K]{
		Waiter: waiter, PID: pid, Files: files, parent: parent, start: s.StartTime, since: now,
	}
}

// Tick tells runs of those whose first threads run or wait for a processor, with what the kernel says of each. It gives
// those that have ended; over: or that are not asked after any more. They are forgotten.
func (n *Newborns[O, K]) Tick(now int64, runs func(*Newborn[O, K], *procmem.Stat)) iter.Seq2[*Newborn[O, K], bool] {
	return func(yield func(y *Newborn[O, K], over bool) bool) {
		for pid, y := range n.young {
			age := now - y.since
			if age > markedFor && now-y.asked < lastingEvery {
				continue
			}
			y.asked = now
			n.between()
			n.pin()
			cpu, _ := n.clock(pid) // it is gone, else
			var s procmem.Stat
			err := n.stat(y.Files, &s)
			n.unpin()
			ended := err != nil || s.StartTime != y.start || s.State == 'X' // a zombie may still be met
			if ended || age > lastingFor {
				delete(n.young, pid)
				goesOn := yield(y, !ended)
				if y.Files.Close(); !goesOn {
					return
				}
				continue
			}
			n.learn(y, &s)
			if y.uses(&s.Comm, int64(cpu)); age <= markedFor && s.State == 'R' {
				runs(y, &s)
			}
		}
	}
}

// # Who calls exec
//
// A shell's children do, a server's mostly do not. The kernel's flags tell of each process whether it has since its
// birth. Of one that is about to end that is how it stays.

// forks is what is known of a process's children.
type forks struct {
	never int  // so many have ended without a call of exec
	exec  bool // one has called it
}

// leastForks is from how many children on that ended without exec the others are taken to be like them.
const leastForks = 8

// Flags of the kernel's include/linux/sched.h.
const (
	exiting    = 0x04 // PF_EXITING
	beforeExec = 0x40 // PF_FORKNOEXEC: it was forked, and has not called exec since
)

// learn takes note of whether a process calls exec.
func (n *Newborns[O, K]) learn(y *Newborn[O, K], s *procmem.Stat) {
	before := s.Flags&beforeExec != 0
	if _, met := n.met[y.parent]; y.told || !met || before && s.Flags&exiting == 0 && s.State != 'Z' {
		return
	}
	f := n.forks[y.parent]
	if f == nil {
		f = &forks{}
		n.forks[y.parent] = f
	}
	if y.told = true; before {
		f.never++
	} else {
		f.exec = true
	}
}

// MayExec reports whether a process may be about to call exec: it has not yet, and it is not known that its parent's
// children do not.
func (n *Newborns[O, K]) MayExec(y *Newborn[O, K], s *procmem.Stat) bool {
	f := n.forks[y.parent]
	return s.Flags&beforeExec != 0 && (f == nil || f.exec || f.never < leastForks)
}

// Execed takes note that a process that was met runs another program: its children are others.
func (n *Newborns[O, K]) Execed(pid int) { delete(n.forks, pid) }

// mostNames bounds how many names of a process are told apart.
const mostNames = 8

// uses takes note of a process's clock.
func (y *Newborn[O, K]) uses(name *procmem.Comm, cpu int64) {
	ns := cpu - y.cpu
	if ns <= 0 {
		return
	}
	if last := len(y.Used) - 1; last >= 0 && (*name == y.comm || len(y.Used) == mostNames) {
		y.Used[last].NS += ns
	} else {
		y.Used = append(y.Used, Use{name.String(), ns})
	}
	y.cpu, y.comm = cpu, *name
}

// None reports whether nobody is newborn.
func (n *Newborns[O, K]) None() bool { return len(n.young) == 0 }

// All gives all that are newborn.
func (n *Newborns[O, K]) All() iter.Seq[*Newborn[O, K]] { return maps.Values(n.young) }
