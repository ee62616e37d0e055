// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/ptrace"
)

// A real-time thread wakes up on the CPU that it slept on, even if others are idle (kernel/sched/rt.c,
// select_task_rq_rt). The tracer chooses:
//
//   - That of a thread with many system calls, drawn at random, for exact samples (skid.go of package observe).
//   - None of a thread that outranks the tracer, which would run there only while that thread sleeps.
//   - Else one where the tracer preempts no target thread. If all CPUs are busy, moves become rarer.
const (
	// minStay and maxStay bound the stay on a CPU where the tracer preempts threads.
	minStay = 20 * time.Millisecond
	maxStay = 2 * time.Second
	// quietTicks ticks without preemption reset the stay to minStay.
	quietTicks = 32
	// preferFor is how long the tracer stays after it last saw a preferred thread run.
	preferFor = time.Second
	// preferStay is the least time between moves to a thread's CPU.
	preferStay = 8 * time.Millisecond
)

// cpuChooser chooses the tracer's CPU. Its methods must be called on the tracer's OS thread.
type cpuChooser struct {
	allowed      unix.CPUSet
	allowedKnown bool
	stay         time.Duration // least time between two moves
	nextMove     ptrace.Moment
	quiet        int // ticks since the last preemption
	move         func(*unix.CPUSet) error

	preferCalls  int // in this tick
	drawnCPU     int
	preferredCPU int           // where the tracer sleeps; −1 means none
	preferredAt  ptrace.Moment // of a preferred thread
	nextPrefer   ptrace.Moment
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
func (c *cpuChooser) endTick(now ptrace.Moment, inTheWay bool, cpu int) {
	switch {
	case !c.allowedKnown:
	case c.outranked.Count() > 0:
		c.leaveOutranked(now)
	case c.preferCalls > 0:
		c.preferCalls, c.preferredAt = 0, now
		if c.preferredCPU != c.drawnCPU && now >= c.nextPrefer {
			c.nextPrefer = now.Add(preferStay)
			var one unix.CPUSet
			one.Set(c.drawnCPU)
			c.preferredCPU = c.drawnCPU
			c.moveTo(&one)
		}
	case c.preferredCPU >= 0:
		if now.Sub(c.preferredAt) > preferFor {
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

func (c *cpuChooser) leaveOutranked(now ptrace.Moment) {
	others := c.allowed
	for i := range others {
		others[i] &^= c.outranked[i]
	}
	c.outranked.Zero()
	c.preferCalls = 0
	if now >= c.nextMove && others.Count() > 0 {
		c.preferredCPU = -1
		c.moveTo(&others)
		c.nextMove = now.Add(minStay)
	}
}

func (c *cpuChooser) avoidPreemption(now ptrace.Moment, inTheWay bool, cpu int) {
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
	c.nextMove = now.Add(c.stay)
	c.stay = min(2*c.stay, maxStay)
}

func (c *cpuChooser) moveTo(set *unix.CPUSet) {
	if c.move(set) != nil {
		c.allowedKnown = false
		_ = c.move(&c.allowed) // or it stays
	}
}
