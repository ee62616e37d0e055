// SPDX-License-Identifier: Apache-2.0

package skid

import "prywalk/internal/sample"

// Thread is what a look has to know of one thread because of skid. The zero value knows nothing. It belongs to the
// tracer's goroutine.
type Thread struct {
	Calls
	preempted bool // the tracer's wake-up took the processor from it
	judged    bool // preempted says so of the look that is under way
	late      bool // but the wake-up that preempted it came from afar: it went on for some microseconds first
	cpu       int  // the tracer's processor when that was judged
	moved     bool // it did not stop where it was at its last look: it may have been preempted, and may be again

	foundAt   int64  // the wake-up of the tracer that is known to have preempted it, CLOCK_MONOTONIC ns; 0: none
	foundRuns uint64 // its count of arrivals on a processor then
}

// BeginLook forgets what was known of the last look alone. If it is already known that a wake-up of the tracer has
// preempted the thread ([Tracer.Find]), that holds as long as it has not arrived on a processor since.
func (t *Thread) BeginLook(woken int64, runs uint64) {
	t.preempted = t.foundAt != 0 && t.foundAt == woken && t.foundRuns == runs
	t.judged, t.late = t.preempted, false // who comes from afar is not sought
	t.foundAt = 0
}

// RanOn tells that the thread arrived on a processor between the moment at which it was judged and the interrupt. What
// the look will show is not where the tracer preempted it.
func (t *Thread) RanOn() { t.preempted = false }

// Judged reports whether it is known, of the look under way, whether the tracer preempted the thread.
func (t *Thread) Judged() bool { return t.judged }

// Preempted reports whether the tracer preempted the thread, as far as that is known, and on which processor.
func (t *Thread) Preempted() (cpu int, ok bool) { return t.cpu, t.preempted }

// TellsAsleep reports whether a look at a thread that the tracer has preempted and that sleeps by now tells where it
// was. One that makes many system calls and was interrupted from afar may have gone to sleep meanwhile.
func (t *Thread) TellsAsleep(wake Wake, now int64) bool { return wake.ByTimer || !t.skids(now) }

// MayWait reports whether the thread is likely to wait for the tracer's processor, or must be looked at exactly: then
// [Tracer.Judge] is worth its price at once.
func (t *Thread) MayWait() bool { return t.moved || t.Basis() != sample.FewCalls }

// ExactAt takes note of a look at a sleeper that the tracer preempted.
func (t *Thread) ExactAt(at int64) { t.exactAt = at }

// Stopped decides whether the time that a thread has computed goes to the stack of this freeze: it was on a
// processor, and the look shows where. If it stayed there since before the interrupt, it was on one. Else it was
// queued for one, but it counts if the tracer itself had preempted it.
func (t *Thread) Stopped(at int64, stayed, inSyscall bool) (onCPU bool, basis sample.Basis) {
	t.moved = !stayed
	if !stayed && !t.preempted {
		return false, t.Basis()
	}
	t.stopped(at, inSyscall)
	if t.preempted && !t.late {
		t.exactAt = at
		return true, sample.Exact
	}
	if t.skids(at) {
		return false, sample.Skids
	}
	return true, t.Basis()
}
