// SPDX-License-Identifier: Apache-2.0

package skid

import "prywalk/internal/sample"

// StopClassifier decides, for one thread, whether its CPU time is attributed to the stacks of its stops. The zero value
// is ready. For the tracer's goroutine only.
type StopClassifier struct {
	SyscallStops
	preempted    bool // by the tracer's wake-up
	waits        bool // queued on the tracer's CPU, preempted or not
	decided      bool // preempted and waits are decided for the current sample
	fromOtherCPU bool // preempted, but from another CPU: it ran on for some µs
	cpu          int  // the tracer's CPU when that was decided
	ranSinceTick bool // it ran between the tick and its last stop: it may be preempted again

	foundAt   int64  // tracer's wake-up found to have preempted it, CLOCK_MONOTONIC ns; 0: none
	foundRuns uint64 // its count of arrivals then
}

// BeginSample resets the last sample's state. A preemption found ([PreemptionDetector.CheckBeforeSample]) stays valid
// until the thread next arrives on a CPU.
func (t *StopClassifier) BeginSample(woken int64, runs uint64) {
	t.preempted = t.foundAt != 0 && t.foundAt == woken && t.foundRuns == runs
	t.waits, t.decided, t.fromOtherCPU = t.preempted, t.preempted, false // those from another CPU are not searched for
	t.foundAt = 0
}

// NoteRunOn records that the thread arrived on a CPU between decision and interrupt: the sample does not show where it
// was preempted.
func (t *StopClassifier) NoteRunOn() { t.preempted, t.waits = false, false }

// Decided reports whether the current sample's preemption is decided.
func (t *StopClassifier) Decided() bool { return t.decided }

// Preempted reports whether the tracer is known to have preempted the thread, and on which CPU.
func (t *StopClassifier) Preempted() (cpu int, ok bool) { return t.cpu, t.preempted }

// ShowsPlaceAsleep reports whether a sample of a preempted thread that sleeps now shows where it was preempted. A
// thread with many system calls, interrupted from another CPU, may have run on and then slept.
func (t *StopClassifier) ShowsPlaceAsleep(wake Wake, now int64) bool {
	return wake.ByTimer || !t.carriesCPU(now)
}

// DecideAtOnce reports whether to call [PreemptionDetector.Decide] at once: the thread is likely queued behind the
// tracer, or needs an exact sample.
func (t *StopClassifier) DecideAtOnce() bool { return t.ranSinceTick || t.Basis() != sample.FewCalls }

// NoteExactSample records an exact sample of a preempted thread that sleeps.
func (t *StopClassifier) NoteExactSample(at int64) { t.exactAt = at }

// AttributeStop decides whether CPU time goes to the stack of a stop. onCPU: the thread was on a CPU at the tick, and
// the sample shows where. stayed: no arrival on a CPU since before the interrupt, so it was on one; otherwise it was
// queued, and counts only if the tracer preempted it.
func (t *StopClassifier) AttributeStop(at int64, stayed, inSyscall bool) (onCPU bool, basis sample.Basis) {
	t.ranSinceTick = !stayed
	if !stayed && !t.preempted {
		return false, t.Basis()
	}
	t.noteStop(at, inSyscall)
	if t.preempted && !t.fromOtherCPU {
		t.exactAt = at
		return true, sample.Exact
	}
	if t.carriesCPU(at) {
		return false, sample.Skids
	}
	return true, t.Basis()
}
