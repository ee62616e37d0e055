// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// A real-time thread wakes up on the CPU that it slept on, even if others are idle (kernel/sched/rt.c,
// select_task_rq_rt). The tracer chooses:
//
//   - That of a thread with many system calls, drawn at random, for exact samples (skid.go of package observe).
//   - None of a thread that outranks the tracer, which would run there only while that thread sleeps.
//   - Else one where the tracer preempts no target thread. If all CPUs are busy, moves become rarer.
const (
	// minStay and maxStay bound the stay on a CPU where the tracer preempts threads, ns.
	minStay = 20e6
	maxStay = 2e9
	// quietTicks ticks without preemption reset the stay to minStay.
	quietTicks = 32
	// preferFor is how long the tracer stays after it last saw a preferred thread run, ns.
	preferFor = 1e9
	// preferStay is the least time between moves to a thread's CPU, ns.
	preferStay = 8e6
)

// cpuChooser chooses the tracer's CPU. Its methods must be called on the tracer's OS thread.
type cpuChooser struct {
	allowed      unix.CPUSet
	allowedKnown bool
	stay         int64 // least time between two moves, ns
	nextMove     int64 // CLOCK_MONOTONIC ns
	quiet        int   // ticks since the last preemption
	move         func(*unix.CPUSet) error

	preferCalls  int // in this tick
	drawnCPU     int
	preferredCPU int   // where the tracer sleeps; −1 means none
	preferredAt  int64 // of a preferred thread, CLOCK_MONOTONIC ns
	nextPrefer   int64 // CLOCK_MONOTONIC ns
	rng          *rand.Rand

	outranked unix.CPUSet // in this tick
}

// newCPUChooser makes a chooser for the calling thread. It calls moved after each move.
func newCPUChooser(moved func()) *cpuChooser {
	c := &cpuChooser{stay: minStay, preferredCPU: -1, rng: rand.New(rand.NewPCG(uint64(unix.Gettid()), 3))}
	c.move = func(set *unix.CPUSet) error {
		defer moved()
		return unix.SchedSetaffinity(0, set)
	}
	c.allowedKnown = unix.SchedGetaffinity(0, &c.allowed) == nil && c.allowed.Count() > 1
	return c
}

// mayMove reports whether the tracer sleeps on a preferred thread's CPU, and may move.
func (c *cpuChooser) mayMove() bool { return c.allowedKnown && c.preferredCPU >= 0 }

// prefer records the CPU of a running thread with many system calls.
func (c *cpuChooser) prefer(cpu int) {
	if !c.allowedKnown || cpu < 0 || !c.allowed.IsSet(cpu) {
		return
	}
	if c.preferCalls++; c.rng.IntN(c.preferCalls) == 0 {
		c.drawnCPU = cpu
	}
}

// avoid records the CPU of a thread that outranks the tracer.
func (c *cpuChooser) avoid(cpu int) {
	if c.allowedKnown && cpu >= 0 && c.allowed.IsSet(cpu) {
		c.outranked.Set(cpu)
	}
}

// endTick moves the tracer if needed. inTheWay means that it has preempted a target's thread on cpu.
func (c *cpuChooser) endTick(now int64, inTheWay bool, cpu int) {
	switch {
	case !c.allowedKnown:
	case c.outranked.Count() > 0:
		c.leaveOutranked(now)
	case c.preferCalls > 0:
		c.preferCalls, c.preferredAt = 0, now
		if c.preferredCPU != c.drawnCPU && now >= c.nextPrefer {
			c.nextPrefer = now + preferStay
			var one unix.CPUSet
			one.Set(c.drawnCPU)
			c.preferredCPU = c.drawnCPU
			c.moveTo(&one)
		}
	case c.preferredCPU >= 0:
		if now-c.preferredAt > preferFor {
			c.preferredCPU = -1
			c.moveTo(&c.allowed)
		}
	default:
		c.avoidPreemption(now, inTheWay, cpu)
	}
}

// canMove reports whether the tracer may run on several CPUs.
func (c *cpuChooser) canMove() bool { return c.allowedKnown }

// leave moves the tracer from its CPU to another.
func (c *cpuChooser) leave(cpu int) {
	others := c.allowed
	others.Clear(cpu)
	c.preferredCPU = -1
	c.moveTo(&others)
}

func (c *cpuChooser) leaveOutranked(now int64) {
	others := c.allowed
	for i := range others {
		others[i] &^= c.outranked[i]
	}
	c.outranked.Zero()
	c.preferCalls = 0
	if now >= c.nextMove && others.Count() > 0 {
		c.preferredCPU = -1
		c.moveTo(&others)
		c.nextMove = now + minStay
	}
}

func (c *cpuChooser) avoidPreemption(now int64, inTheWay bool, cpu int) {
	if !inTheWay {
		if c.quiet++; c.quiet >= quietTicks {
			c.stay = minStay
		}
		return
	}
	c.quiet = 0
	if now < c.nextMove || cpu < 0 {
		return
	}
	others := c.allowed
	others.Clear(cpu)
	c.moveTo(&others)
	c.nextMove = now + c.stay
	c.stay = min(2*c.stay, maxStay)
}

func (c *cpuChooser) moveTo(set *unix.CPUSet) {
	if c.move(set) != nil {
		c.allowedKnown = false
		_ = c.move(&c.allowed) // or it stays
	}
}
