// SPDX-License-Identifier: Apache-2.0

package idle

import (
	"prywalk/internal/look"
	"prywalk/internal/sample"
)

// Thread is what the policy remembers of a thread.
type Thread struct {
	// Owner is the caller's.
	Owner any
	// Look is the thread, to be looked at.
	Look *look.Thread
	// Unchanged is at how many ticks the thread was found as it was at its last look, as far as the accountant does not
	// know it yet.
	Unchanged sample.Unchanged
	// Gone: it has ended, and is not looked at any more.
	Gone bool

	proc   *Process
	asleep bool  // it slept at its last look
	since  int64 // since when it has not been found changed, CLOCK_MONOTONIC ns
	left   int64 // the tick at which it was backed off; 0: it is looked at in every tick
	rested bool  // that is so as ticks were left out

	backoff    int64  // for how long it is to be left alone next, ns; 0: not at all
	lookedAt   int64  // when it was last looked at, CLOCK_MONOTONIC ns
	clock      uint64 // the process's clock then, ns
	used       int64  // its processor time as of the last look, ns
	usedKnown  bool   // used is valid
	restless   bool   // it woke lately, and is left alone all the same
	ranBackOff bool   // it was backed off as it ran, and that is not yet accounted for
	met        bool   // it was looked at
	hasRun     bool   // it was found changed after that
	firstRun   bool   // that was just now, and is not yet accounted for

	filed      bool // it is in the wheel, in this slot
	slot       int
	prev, next *Thread
}

// LeftAlone reports whether the thread was left alone at the last ticks: its next look tells what it did at them.
func (th *Thread) LeftAlone() bool { return th.left != 0 }

// AsleepFor gives for how long the thread has slept without a break that was noticed, in nanoseconds; 0: it does not.
func (th *Thread) AsleepFor(now int64) int64 {
	if !th.asleep {
		return 0
	}
	return now - th.since
}

// found takes note that the thread was found at n ticks more as at its last look.
func (th *Thread) found(n int64, at sample.Reading) {
	th.Unchanged.Ticks += n
	th.Unchanged.Last = at
}

// SleptAgain takes note of a look that found the thread in the same place of the same stack as the one before, though
// it has run in between.
func (th *Thread) SleptAgain(at sample.Reading) {
	th.found(1, at)
	th.Unchanged.Ran = true
}

// HasRun reports whether the thread was found changed since it was met.
func (th *Thread) HasRun() bool { return th.hasRun }

// class gives what is known of the bursts of threads like this one. Those that run again and again, as a collector's,
// are one class. Those that have not run since they were met are the other.
func (th *Thread) class() *stretch {
	if th.hasRun && !th.firstRun {
		return &th.proc.stretch
	}
	return &th.proc.fresh
}

// patience gives how a thread may be left alone as one of so many: for how many times as long as at first, and for
// which part of its sleep. What a sampled thread does when it wakes, the kernel tells: in a crowd it need not be looked
// at for that. If it has not run since it was met, it is left alone for as long as it was seen to sleep.
func (th *Thread) patience(threads int) (stretch, share int64) {
	if stretch, share = th.class().factor(), sleepShare; threads < crowded || !th.Look.Sampled() {
		return stretch, share
	}
	if !th.hasRun {
		share = firstShare
	}
	return maxStretch, share
}

// TakeUnchanged gives what the accountant does not know yet, once.
func (th *Thread) TakeUnchanged() sample.Unchanged {
	u := th.Unchanged
	th.Unchanged.Ticks, th.Unchanged.Ran = 0, false
	return u
}

// Process is what the policy remembers of a process.
type Process struct {
	// Awake are the threads to be looked at in this tick.
	Awake []*Thread

	clocked bool   // the process's clock could be read,
	clockAt int64  // at this tick, CLOCK_MONOTONIC ns
	cpu     uint64 // and what it showed, ns

	backedOff   int     // threads
	restless    int     // threads
	explained   int64   // what looks at threads explain of the clock since then, ns:
	wokenAll    uint64  // the clock when all that were backed off were last looked at, ns
	wakeAllFrom int64   // when that may be done next, CLOCK_MONOTONIC ns
	stretch     stretch // of threads that have run since they were met,
	fresh       stretch // and of those that have not
}

// NewProcess begins with a process whose clock shows so many nanoseconds.
func NewProcess(cpu uint64) *Process {
	return &Process{cpu: cpu, wokenAll: cpu}
}

// Clock takes note of what the process's clock showed at a tick; ok: it could be read.
func (p *Process) Clock(at int64, cpu uint64, ok bool) {
	p.clockAt, p.cpu, p.clocked = at, cpu, ok
	if ok {
		p.stretch.decide(at, cpu)
		p.fresh.decide(at, cpu)
	}
}

// AnyBackedOff reports whether a thread is left alone that the process's clock can show to have run.
func (p *Process) AnyBackedOff() bool { return p.backedOff > 0 }

// Add takes a new thread on.
func (p *Process) Add(th *Thread) {
	th.proc = p
	p.Awake = append(p.Awake, th)
}
