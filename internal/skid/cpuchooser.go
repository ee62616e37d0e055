// SPDX-License-Identifier: Apache-2.0

package skid

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// A real-time thread wakes up on the CPU that it slept on, even if others are idle (kernel/sched/rt.c,
// select_task_rq_rt). The tracer chooses that CPU:
//
//   - If threads with many system calls run: that of one of them, drawn at random, for exact samples ([Calls]). Each
//     move preempts a thread, so the tracer stays for a while.
//   - If a thread computes much but is always found asleep ([Hidden]): its CPU. Such a thread may wait for one that the
//     tracer's wake-up has preempted, as a server for its client. From its own CPU it is found running.
//   - Otherwise one where the tracer preempts no target thread, which would not run for the whole tick. If all CPUs are
//     busy, a move does not help, and moves become rarer.
const (
	// leastStay and mostStay bound how long the tracer stays on a CPU where it preempts threads, in ns.
	leastStay = 20e6
	mostStay  = 2e9
	// calmTicks is the number of ticks without preemption after which the stay is leastStay again.
	calmTicks = 32
	// preferFor is how long the tracer stays after the last preferred thread was seen running, in ns.
	preferFor = 1e9
	// preferStay is the least time between moves to a thread's CPU, in ns.
	preferStay = 8e6
	// hiddenShare: a thread is hidden ([Hidden]) if it has computed for 1/hiddenShare of a tick.
	hiddenShare = 2
)

// CPUChooser chooses the tracer's CPU. Its methods must be called on the tracer's OS thread.
type CPUChooser struct {
	allowed unix.CPUSet
	known   bool  // allowed is valid
	stay    int64 // least time from the next move to the one after, ns
	next    int64 // earliest next move, CLOCK_MONOTONIC ns
	calm    int   // ticks since the last preemption
	move    func(*unix.CPUSet) error

	seen        int   // calls of Prefer in this tick
	drawn       int   // CPU of one of them
	at          int   // preferred thread's CPU on which the tracer sleeps, −1: none
	preferredAt int64 // last tick with a preferred thread, CLOCK_MONOTONIC ns
	nextPrefer  int64 // earliest next move to a thread's CPU, CLOCK_MONOTONIC ns
	rng         *rand.Rand
}

// NewCPUChooser makes a chooser for the calling thread. It calls moved after each move.
func NewCPUChooser(moved func()) *CPUChooser {
	p := &CPUChooser{stay: leastStay, at: -1, rng: rand.New(rand.NewPCG(uint64(unix.Gettid()), 3))}
	p.move = func(set *unix.CPUSet) error {
		defer moved()
		return unix.SchedSetaffinity(0, set)
	}
	p.known = unix.SchedGetaffinity(0, &p.allowed) == nil && p.allowed.Count() > 1
	return p
}

// MayShareTargetCPU reports whether the tracer sleeps, or may sleep, on a preferred thread's CPU.
func (p *CPUChooser) MayShareTargetCPU() bool { return p.at >= 0 || !p.known }

// Moves reports whether the tracer sleeps on a preferred thread's CPU, and may move to another's at the end of a
// tick.
func (p *CPUChooser) Moves() bool { return p.known && p.at >= 0 }

// Prefer records the CPU of a running thread with many system calls, or of a hidden one. One CPU per tick is
// drawn.
func (p *CPUChooser) Prefer(cpu int) {
	if !p.known || cpu < 0 || !p.allowed.IsSet(cpu) {
		return
	}
	if p.seen++; p.rng.IntN(p.seen) == 0 {
		p.drawn = cpu
	}
}

// Ticked ends a tick, and moves the tracer if needed. inTheWay: the tracer has preempted a target's thread on cpu.
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

// moveTo restricts the tracer to set. If that fails, the allowed set has changed, and the kernel chooses from now
// on.
func (p *CPUChooser) moveTo(set *unix.CPUSet) {
	if p.move(set) != nil {
		p.known = false
		_ = p.move(&p.allowed) // or it stays
	}
}

// Hidden detects a thread that computes but is found asleep. The zero value is ready.
type Hidden struct {
	cpu   int64 // CPU time when last found running, ns
	valid bool
}

// Update records a sample with the thread's CPU time (ns) and state. It reports whether a thread found asleep has
// computed for 1/hiddenShare of a period (ns) since it was last found running.
func (h *Hidden) Update(cpu int64, onCPU, running bool, period int64) bool {
	if onCPU || !h.valid {
		h.cpu, h.valid = cpu, true
	}
	return !running && cpu-h.cpu >= period/hiddenShare
}
