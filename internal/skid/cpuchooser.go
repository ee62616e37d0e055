// SPDX-License-Identifier: Apache-2.0

package skid

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// A real-time thread wakes up on the processor that it slept on, even if others are idle (kernel/sched/rt.c,
// select_task_rq_rt). The tracer chooses that processor:
//
//   - If threads with many system calls run: that of one of them, drawn at random, for exact samples ([Calls]). Each
//     move preempts a thread, so the tracer stays for a while.
//   - If a thread computes much but is always found asleep ([Hidden]): its processor. It may wait for a thread that the
//     tracer's wake-up has preempted, as a server for its client where both use all processors. From its own processor
//     it is found running.
//   - Otherwise one where the tracer's wake-up preempts no thread of a target: that thread would not run for the whole
//     tick. Where threads run on all processors a move does not help, and moves become rarer.
const (
	// leastStay and mostStay bound how long the tracer stays on a processor where it preempts threads before it tries
	// another, in nanoseconds.
	leastStay = 20e6
	mostStay  = 2e9
	// calmTicks is the number of ticks without preemption after which the next move is soon again.
	calmTicks = 32
	// preferFor is how long the tracer stays after the last preferred thread was seen running, in nanoseconds.
	preferFor = 1e9
	// preferStay is the least time on a thread's processor before the tracer moves to another's, in nanoseconds.
	preferStay = 8e6
	// A thread is hidden ([Hidden]) if it has computed for one part in hiddenShare of a tick.
	hiddenShare = 2
)

// CPUChooser chooses the tracer's processor. Its methods run on the tracer's OS thread.
type CPUChooser struct {
	allowed unix.CPUSet
	known   bool  // allowed is valid
	stay    int64 // least time until the next move, ns
	next    int64 // earliest next move, CLOCK_MONOTONIC ns
	calm    int   // ticks since the last preemption
	move    func(*unix.CPUSet) error

	seen        int   // calls of Prefer in this tick
	drawn       int   // processor of one of them
	at          int   // the thread's processor on which the tracer sleeps, −1: none
	preferredAt int64 // last tick with a preferred thread, CLOCK_MONOTONIC ns
	nextPrefer  int64 // earliest next move to a thread's processor, CLOCK_MONOTONIC ns
	rng         *rand.Rand
}

// NewCPUChooser makes one for the calling thread; moved is called after each move.
func NewCPUChooser(moved func()) *CPUChooser {
	p := &CPUChooser{stay: leastStay, at: -1, rng: rand.New(rand.NewPCG(uint64(unix.Gettid()), 3))}
	p.move = func(set *unix.CPUSet) error {
		defer moved()
		return unix.SchedSetaffinity(0, set)
	}
	p.known = unix.SchedGetaffinity(0, &p.allowed) == nil && p.allowed.Count() > 1
	return p
}

// MayShareTargetCPU reports whether the tracer sleeps on the processor of a thread with many system calls, or of a
// hidden one.
func (p *CPUChooser) MayShareTargetCPU() bool { return p.at >= 0 || !p.known }

// Moves reports whether the tracer sleeps on the processor of a target's thread, and may move to another's at the end
// of a tick.
func (p *CPUChooser) Moves() bool { return p.known && p.at >= 0 }

// Prefer records the processor of a running thread with many system calls, or of a hidden one. One of those of a tick
// is drawn.
func (p *CPUChooser) Prefer(cpu int) {
	if !p.known || cpu < 0 || !p.allowed.IsSet(cpu) {
		return
	}
	if p.seen++; p.rng.IntN(p.seen) == 0 {
		p.drawn = cpu
	}
}

// Ticked ends a tick, and moves the tracer if needed. inTheWay reports that the tracer has preempted a target's thread
// on processor cpu.
func (p *CPUChooser) Ticked(now int64, inTheWay bool, cpu int) {
	switch {
	case !p.known:
	case p.seen > 0:
		p.seen, p.preferredAt = 0, now
		if p.at != p.drawn && now >= p.nextPrefer {
			p.nextPrefer = now + preferStay
			var one unix.CPUSet
			one.Set(p.drawn)
			p.at = p.drawn
			p.moveTo(&one)
		}
	case p.at >= 0:
		if now-p.preferredAt > preferFor {
			p.at = -1
			p.moveTo(&p.allowed)
		}
	default:
		p.avoidPreemption(now, inTheWay, cpu)
	}
}

// avoidPreemption leaves a processor on which the tracer preempts threads.
func (p *CPUChooser) avoidPreemption(now int64, inTheWay bool, cpu int) {
	if !inTheWay {
		if p.calm++; p.calm >= calmTicks {
			p.stay = leastStay
		}
		return
	}
	p.calm = 0
	if now < p.next || cpu < 0 {
		return
	}
	others := p.allowed
	others.Clear(cpu)
	p.moveTo(&others)
	p.next = now + p.stay
	p.stay = min(2*p.stay, mostStay)
}

// moveTo restricts the tracer to these processors. If that fails, the allowed set has changed, and the kernel chooses
// from now on.
func (p *CPUChooser) moveTo(set *unix.CPUSet) {
	if p.move(set) != nil {
		p.known = false
		_ = p.move(&p.allowed) // or it stays
	}
}

// Hidden detects a thread that computes but is found asleep. The zero value is for a thread without samples.
type Hidden struct {
	cpu   int64 // its CPU time when it was last found running, ns
	valid bool
}

// Update records a sample with the thread's CPU time (ns) and state. It reports whether the thread is asleep though it
// has computed for a good part of a tick since it was last found running.
func (h *Hidden) Update(cpu int64, onCPU, running bool, period int64) bool {
	if onCPU || !h.valid {
		h.cpu, h.valid = cpu, true
	}
	return !running && cpu-h.cpu >= period/hiddenShare
}
