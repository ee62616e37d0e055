// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
)

// PreemptionDetector finds the thread that the tracer's own wake-up preempted. For the tracer's OS thread only.
// Parameter woken of its methods is [Wake.At].
//
// The kernel reads the scheduler's clock once for the thread that leaves a CPU and the one that arrives: equal times
// show the pair. The user stack is as it was at the tick (on a non-preemptible kernel, a system call first ends or
// sleeps).
type PreemptionDetector struct {
	self         *procmem.ThreadFiles
	arrival      int64 // of the tracer on its CPU, scheduler clock
	arrivalKnown bool
	arrivalWake  int64 // [Wake.At]
	cpu          int
	cpuWake      int64 // [Wake.At]
	hasPreempted bool  // since ForgetPreempted
	preemptedCPU int   // of the last such thread
	knownWake    int64
	queriesLeft  int // wake-ups for which arrival is still read early
}

// Wake is a wake-up of the tracer.
type Wake struct {
	At int64 // CLOCK_MONOTONIC ns, which identifies it
	// ByTimer: the tracer's own timer on its CPU woke it. Otherwise the preempted thread skids.
	ByTimer bool
	// Late: the tracer waited for its CPU, so the thread that was on it ran on, mostly until it slept.
	Late bool
}

// queriedFor is the number of wake-ups after a query for which the arrival is read early.
const queriedFor = 16

// NoteWake begins a wake-up. It reads the tracer's arrival at once if a query is likely: the kernel updates the value
// at each of its ticks.
func (d *PreemptionDetector) NoteWake(at int64) {
	if d.queriesLeft > 0 {
		d.queriesLeft--
		d.readArrival(at)
	}
}

// ForgetPreempted begins the time of PreemptedOn.
func (d *PreemptionDetector) ForgetPreempted() { d.hasPreempted = false }

// PreemptedOn returns the CPU on which the tracer last preempted a sampled thread, or false.
func (d *PreemptionDetector) PreemptedOn() (cpu int, ok bool) { return d.preemptedCPU, d.hasPreempted }

// CPU returns the tracer's CPU.
func (d *PreemptionDetector) CPU(woken int64) int {
	if d.cpuWake != woken || woken == 0 {
		d.cpuWake, d.cpu = woken, procmem.CPU()
	}
	return d.cpu
}

// readArrival reads, once per wake-up, when the tracer arrived on its CPU; false if that is unknown.
func (d *PreemptionDetector) readArrival(woken int64) bool {
	if d.self == nil {
		d.self = procmem.OpenThread(os.Getpid(), unix.Gettid(), procmem.NewFDBudget(0))
	}
	if d.arrivalWake != woken || woken == 0 {
		d.arrivalWake = woken
		d.arrival, d.arrivalKnown = d.self.LastRun()
	}
	return d.arrivalKnown
}

// Close closes the /proc files of the tracer's thread.
func (d *PreemptionDetector) Close() {
	if d.self != nil {
		d.self.Close()
		d.self = nil
	}
}

// Preempted reports whether the wake-up at woken preempted the thread.
func (d *PreemptionDetector) Preempted(files *procmem.ThreadFiles, woken int64) bool {
	if d.queriesLeft = queriedFor; d.isKnown(woken) || !d.readArrival(woken) {
		return false
	}
	if lastRun, ok := files.LastRun(); !ok || lastRun != d.arrival {
		return false
	}
	d.setKnown(woken)
	return true
}

// byClock is Preempted by the thread's own clock; false may be inconclusive.
func (d *PreemptionDetector) byClock(run Run, woken int64) bool {
	if d.knownWake == woken || !run.RanUntil(woken) {
		return false
	}
	d.setKnown(woken)
	return true
}

func (d *PreemptionDetector) isKnown(woken int64) bool { return d.knownWake == woken && woken != 0 }

// Precondition: the tracer has not slept since.
func (d *PreemptionDetector) setKnown(woken int64) {
	d.knownWake, d.hasPreempted, d.preemptedCPU = woken, true, d.CPU(woken)
}

// CheckBeforeSample is Preempted before a thread is sampled, and notes the result in t. runs is the thread's count of
// arrivals, read before. The preempted thread is sampled first: an idle CPU may take it, less often while it is in a
// system call.
func (d *PreemptionDetector) CheckBeforeSample(t *StopClassifier, files *procmem.ThreadFiles, runs uint64,
	woken int64) bool {
	if !d.Preempted(files, woken) {
		return false
	}
	t.foundAt, t.foundRuns, t.cpu = woken, runs, d.CPU(woken)
	return true
}

// Decide finds, once per sample, whether the tracer's wake-up preempted a thread. queued: on the tracer's CPU, so that
// it cannot stop before the tracer sleeps.
//
// Precondition: the tracer has not slept since its wake-up. It takes some µs: see [StopClassifier.DecideAtOnce].
func (d *PreemptionDetector) Decide(t *StopClassifier, files *procmem.ThreadFiles, run Run, wake Wake) (queued bool) {
	if t.decided {
		return t.queuedBehindTracer
	}
	t.decided, t.fromOtherCPU, t.cpu = true, !wake.ByTimer, d.CPU(wake.At)
	t.preempted = t.Basis() == sample.FewCalls && d.byClock(run, wake.At)
	t.queuedBehindTracer = t.preempted
	if t.preempted || d.isKnown(wake.At) { // it, or another thread
		return t.queuedBehindTracer
	}
	var st procmem.Stat
	if files.Stat(&st) == nil && st.Processor == t.cpu {
		t.queuedBehindTracer = true
		t.preempted = d.Preempted(files, wake.At)
	}
	return t.queuedBehindTracer
}

// Run is what a thread did since the end of its last stop.
type Run struct {
	// DetachedAt is CLOCK_MONOTONIC ns; 0 if the thread was not stopped, or did not arrive on a CPU exactly once since.
	DetachedAt int64
	CPU        int64 // since then, ns
}

// maxDepartureAge is the longest time from a preempted thread's departure to the tracer's wake-up, ns.
const maxDepartureAge = 60e3

// RanUntil reports whether a thread's clock has grown since its last stop as if it ran until moment, CLOCK_MONOTONIC
// ns. It is cheaper than [procmem.ThreadFiles.LastRun] (5 µs), but also true of a thread on another CPU whose clock was
// just updated.
func (r Run) RanUntil(moment int64) bool {
	return r.DetachedAt != 0 && r.CPU >= moment-r.DetachedAt-maxDepartureAge
}
