// SPDX-License-Identifier: Apache-2.0

package pace

import "prywalk/internal/base/sample"

// StopClassifier decides, for one thread, whether its CPU time goes to the stacks of its stops. For the tracer's
// goroutine only.
type StopClassifier struct {
	share   float64 // of the recent stops that were at the end of a system call
	stops   float64 // at most recentStops
	many    bool    // only samples from the thread's own CPU are exact
	inexact bool    // no stop is exact: CPU time that waits for exact samples would go to sleepers only
	exactAt int64   // last exact sample, or begin of many, CLOCK_MONOTONIC ns

	preempted          bool // by the tracer's wake-up
	queuedBehindTracer bool // on its CPU
	decided            bool // preempted and queuedBehindTracer are decided for the current sample
	fromOtherCPU       bool // preempted from another CPU: it ran on for some µs
	cpu                int  // the tracer's CPU then
	ranSinceTick       bool // it ran between the tick and its last stop: it may be preempted again

	foundAt   int64  // wake-up that preempted it, CLOCK_MONOTONIC ns; 0: none
	foundRuns uint64 // count of arrivals then
}

// BeginSample resets the last sample's state. A preemption found before stays valid until the thread next arrives on a
// CPU. inexact: no thread is stopped where the tracer preempted it, so CPU time goes to each stop.
func (c *StopClassifier) BeginSample(woken int64, runs uint64, inexact bool) {
	c.inexact = inexact
	c.preempted = c.foundAt != 0 && c.foundAt == woken && c.foundRuns == runs
	c.queuedBehindTracer, c.decided, c.fromOtherCPU = c.preempted, c.preempted, false
	c.foundAt = 0
}

// NoteRunOn records that the thread arrived on a CPU between decision and interrupt.
func (c *StopClassifier) NoteRunOn() { c.preempted, c.queuedBehindTracer = false, false }

// Decided reports whether the current sample's preemption is decided.
func (c *StopClassifier) Decided() bool { return c.decided }

// Preempted reports whether the tracer is known to have preempted the thread, and on which CPU.
func (c *StopClassifier) Preempted() (cpu int, ok bool) { return c.cpu, c.preempted }

// ShowsPlaceAsleep reports whether a sample of a preempted thread that sleeps now shows where it was preempted. A
// thread with many system calls, interrupted from another CPU, may have run on; before a late wake-up each has.
func (c *StopClassifier) ShowsPlaceAsleep(wake Wake, now int64) bool {
	return !wake.Late && (wake.ByTimer || !c.carriesCPU(now))
}

// DecideAtOnce reports whether the thread is likely queued behind the tracer, or needs an exact sample.
func (c *StopClassifier) DecideAtOnce() bool { return c.ranSinceTick || c.Basis() != sample.FewCalls }

// NoteExactSample records an exact sample of a preempted thread that sleeps.
func (c *StopClassifier) NoteExactSample(at int64) { c.exactAt = at }

// AttributeStop decides whether CPU time goes to the stack of a stop. stayed: no arrival on a CPU since before the
// interrupt, so the thread was on one; otherwise it was queued, and counts only if the tracer preempted it.
func (c *StopClassifier) AttributeStop(at int64, stayed, inSyscall bool) (onCPU bool, basis sample.Basis) {
	c.ranSinceTick = !stayed
	if !stayed && !c.preempted {
		return false, c.Basis()
	}
	c.noteStop(at, inSyscall)
	if c.preempted && !c.fromOtherCPU {
		c.exactAt = at
		return true, sample.Exact
	}
	if c.carriesCPU(at) {
		return false, sample.Skids
	}
	return true, c.Basis()
}

const (
	// A thread makes many calls from when the share of its stops at the end of a call is above manyAbove until it is
	// below manyUntil.
	manyAbove = 0.2
	manyUntil = 0.03
	// maxCarryTime is how long CPU time is carried to the next exact sample, ns.
	maxCarryTime = 4e9
	// recentStops is the number of stops over which the share is averaged.
	recentStops  = 32
	decidedAfter = 8 // stops until a thread is taken not to make many calls
)

// noteStop records a stop of a thread on a CPU. inSyscall: at the end of a call.
func (c *StopClassifier) noteStop(now int64, inSyscall bool) {
	atCallEnd := 0.0
	if inSyscall {
		atCallEnd = 1
	}
	c.stops = min(c.stops+1, recentStops)
	c.share += (atCallEnd - c.share) / c.stops
	many := !c.inexact && (c.share > manyAbove || c.many && c.share >= manyUntil)
	if many && !c.many {
		c.exactAt = now
	}
	c.many = many
}

// carriesCPU reports whether CPU time of an inexact sample is carried to the next exact one.
func (c *StopClassifier) carriesCPU(now int64) bool {
	return c.many && now-c.exactAt < maxCarryTime
}

// Basis is how far an inexact sample shows where CPU time was spent.
func (c *StopClassifier) Basis() sample.Basis {
	switch {
	case c.many:
		return sample.ManyCalls
	case c.stops < decidedAfter:
		return sample.Undecided
	}
	return sample.FewCalls
}

// HasManyCalls reports whether only samples from the thread's own CPU are exact.
func (c *StopClassifier) HasManyCalls() bool { return c.many }
