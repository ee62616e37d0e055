// SPDX-License-Identifier: Apache-2.0

package skid

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// A real-time thread wakes up on the processor that it slept on, whoever runs there, even
// if others are idle (kernel/sched/rt.c, select_task_rq_rt). The tracer chooses where it
// sleeps:
//
//   - If threads that make many system calls run, on the processor of one of them, drawn at random. Only from there
//     they are looked at exactly ([Calls]). Each move puts somebody off, so that it stays for a while.
//   - So too if a thread computes much and is found asleep all the same. It may wait for a
//     thread that the tracer's wake-up has preempted: a server for its client, on a machine
//     where both use all processors. From its own processor it is met at work.
//   - Else not where its wake-up preempts a thread of a target, which would stand still for
//     the whole tick instead of for its own look. Where threads run on all processors
//     moving does not help: it is tried less and less often.
const (
	// leastStay and mostStay bound how long the tracer stays on a processor where it
	// is in the way before it tries another, in nanoseconds.
	leastStay = 20e6
	mostStay  = 2e9
	// calmTicks is after how many ticks in nobody's way the next move is soon again.
	calmTicks = 32
	// followFor is how long the tracer stays after the last thread that made many system
	// calls was seen running, in nanoseconds.
	followFor = 1e9
	// followStay is how long it stays on a processor before it follows another one, in nanoseconds.
	followStay = 8e6
	// hiddenShare: a thread that has computed for that share of a tick since it was last
	// met at work, and sleeps, is followed too.
	hiddenShare = 2
)

// CPUChooser chooses the tracer's processor. Its methods run on the tracer's OS thread.
type CPUChooser struct {
	allowed unix.CPUSet
	known   bool // allowed is
	stay    int64
	next    int64 // when to move next at the earliest, CLOCK_MONOTONIC ns
	calm    int   // ticks since it was last in the way
	move    func(*unix.CPUSet) error

	seen     int // threads with many system calls that were seen running in this tick
	drawn    int // the processor of one of them
	at       int // where it is because of one, −1 if it is not
	followed int64
	follows  int64 // when to follow another one at the earliest, CLOCK_MONOTONIC ns
	rng      *rand.Rand
}

// NewCPUChooser makes one for the calling thread; moved is called when it has been moved.
func NewCPUChooser(moved func()) *CPUChooser {
	p := &CPUChooser{stay: leastStay, at: -1, rng: rand.New(rand.NewPCG(uint64(unix.Gettid()), 3))}
	p.move = func(set *unix.CPUSet) error {
		defer moved()
		return unix.SchedSetaffinity(0, set)
	}
	p.known = unix.SchedGetaffinity(0, &p.allowed) == nil && p.allowed.Count() > 1
	return p
}

// Following reports whether the tracer sleeps where a thread ran that makes many system calls, or that hides.
func (p *CPUChooser) Following() bool { return p.at >= 0 || !p.known }

// Moves reports whether the tracer may be moved at the end of a tick, because it follows threads.
func (p *CPUChooser) Moves() bool { return p.known && p.at >= 0 }

// Follow takes note of the processor of a thread that makes many system calls.
func (p *CPUChooser) Follow(cpu int) {
	if !p.known || cpu < 0 || !p.allowed.IsSet(cpu) {
		return
	}
	if p.seen++; p.rng.IntN(p.seen) == 0 {
		p.drawn = cpu
	}
}

// Ticked takes note of the end of a tick at which the tracer, on this processor, was in a
// thread's way, or was not, and moves it if need be.
func (p *CPUChooser) Ticked(now int64, inTheWay bool, cpu int) {
	switch {
	case !p.known:
	case p.seen > 0:
		p.seen, p.followed = 0, now
		if p.at != p.drawn && now >= p.follows {
			p.follows = now + followStay
			var one unix.CPUSet
			one.Set(p.drawn)
			p.at = p.drawn
			p.moveTo(&one)
		}
	case p.at >= 0:
		if now-p.followed > followFor {
			p.at = -1
			p.moveTo(&p.allowed)
		}
	default:
		p.makeRoom(now, inTheWay, cpu)
	}
}

// makeRoom leaves a processor on which the tracer is in the way.
func (p *CPUChooser) makeRoom(now int64, inTheWay bool, cpu int) {
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

// moveTo lets the tracer run on these processors only. If that is refused, what is allowed
// has changed: it is left where the kernel puts it.
func (p *CPUChooser) moveTo(set *unix.CPUSet) {
	if p.move(set) != nil {
		p.known = false
		_ = p.move(&p.allowed) // or stays where it is
	}
}

// Hidden tells whether a thread that computes hides from the looks. The zero value is for one that was never looked
// at.
type Hidden struct {
	cpu   int64 // its processor time as of the last look that met it at work, ns
	valid bool
}

// Hides takes note of a look that found the thread with this processor time in nanoseconds, on a processor or not,
// running or not. It reports whether the thread is found asleep though it has computed for a good part of a tick
// since it was last met at work.
func (h *Hidden) Hides(cpu int64, onCPU, running bool, period int64) bool {
	if onCPU || !h.valid {
		h.cpu, h.valid = cpu, true
	}
	return !running && cpu-h.cpu >= period/hiddenShare
}
