// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"prywalk/ptrace"
)

// # Skid
//
// An interrupted thread stops a little later than intended:
//
//	tick      interrupt sent     seen at the next return to user space
//	 │             │                     │
//	 ├─────────────┼── computes ──► syscall ──► stops here, in the call
//
// An interrupt takes some µs to another CPU. The thread's flag is set before, and checked at the end of any system call
// (kernel/entry/common.c, exit_to_user_mode_loop): short code between two calls is hardly ever seen (redis: 38 %
// instead of 6 % in read). The tracer's own CPU has no skid: its timer interrupt is served at once.
//
// So the CPU time of a thread with many system calls goes to exact samples: stops of a thread that the tracer's own
// timer has preempted ([Preemption]), on whose CPU the tracer therefore sleeps (tracer.cpuChooser). That of its
// other samples is carried to the next exact one; if there is none for 4 s, inexact samples get it. At ordinary
// priority, where no thread is stopped on the tracer's CPU, each stop gets its CPU time.

// skidState is what is known of one thread's skid.
type skidState struct {
	share   float64       // of the recent stops that were at the end of a system call
	stops   float64       // at most recentStops
	many    bool          // it makes many calls: only samples from its own CPU are exact
	inexact bool          // no stop is exact: CPU time that waits for exact samples would go to sleepers only
	exactAt ptrace.Moment // last exact sample, or begin of many

	// These are of the current sample.
	decided      bool // the next ones are known
	preempted    bool // by the tracer's wake-up
	awaitsTracer bool // it is queued on the tracer's CPU
	fromOtherCPU bool // it was preempted from another CPU: it ran on for some µs
	cpu          int  // the tracer's CPU then

	ranSinceTick bool // it ran between the tick and its last stop: it may be preempted again
}

const (
	// A thread makes many calls from when the share of its stops at the end of a call is above manyAbove until it is
	// below manyUntil.
	manyAbove = 0.2
	manyUntil = 0.03
	// maxCarryTime is how long CPU time is carried to the next exact sample.
	maxCarryTime = 4 * time.Second
	// recentStops is the number of stops over which the share is averaged.
	recentStops = 32
)

// beginSample resets the state of the last sample. inexact means that no thread is stopped where the tracer preempted
// it.
func (k *skidState) beginSample(inexact bool) {
	k.inexact = inexact
	k.decided, k.preempted, k.awaitsTracer, k.fromOtherCPU = false, false, false, false
}

// markRunning records that the thread arrived on a CPU between decision and interrupt.
func (k *skidState) markRunning() { k.preempted, k.awaitsTracer = false, false }

// decideAtOnce reports whether the thread is likely queued behind the tracer, or needs an exact sample.
func (k *skidState) decideAtOnce() bool { return k.ranSinceTick || k.many }

// attributeStop decides whether CPU time goes to the stack of a stop; skids means that it waits for an exact sample.
// stayed means that it has not arrived on a CPU since before the interrupt, so it was on one; otherwise it was queued,
// and counts only if the tracer preempted it.
func (k *skidState) attributeStop(at ptrace.Moment, stayed, inSyscall bool) (onCPU, skids bool) {
	k.ranSinceTick = !stayed
	if !stayed && !k.preempted {
		return false, false
	}
	k.recordStop(at, inSyscall)
	if k.preempted && !k.fromOtherCPU {
		k.exactAt = at
		return true, false
	}
	skids = k.many && at.Sub(k.exactAt) < maxCarryTime
	return !skids, skids
}

// recordStop records a stop of a thread on a CPU. inSyscall means that it was at the end of a call.
func (k *skidState) recordStop(now ptrace.Moment, inSyscall bool) {
	atCallEnd := 0.0
	if inSyscall {
		atCallEnd = 1
	}
	k.stops = min(k.stops+1, recentStops)
	k.share += (atCallEnd - k.share) / k.stops
	many := !k.inexact && (k.share > manyAbove || k.many && k.share >= manyUntil)
	if many && !k.many {
		k.exactAt = now
	}
	k.many = many
}
