// SPDX-License-Identifier: Apache-2.0

package skid

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// PreemptionDetector finds the thread that the tracer's own wake-up preempted. For the tracer's OS thread only.
//
// A sample at a tick finds whether a thread is on a processor, except on the tracer's own: the thread that was there
// when the tick was due has been preempted. It must not be left out, as that would favour what other threads do. Its
// user stack is as it was at the tick. (On a non-preemptible kernel, a thread in a system call goes on to the end of
// the call, or sleeps in it.) The kernel identifies the thread: it reads the clock once for both the thread that leaves
// a processor and the one that arrives.
type PreemptionDetector struct {
	self    *procmem.ThreadFiles
	at      int64 // the tracer's arrival on its processor, scheduler clock
	ok      bool  // at is valid
	woken   int64 // the wake-up of at ([Wake.At])
	cpu     int   // the tracer's processor
	here    int64 // the wake-up of cpu
	found   bool  // a thread was preempted at this tick
	known   int64 // the wake-up whose preempted thread is known
	queried int   // wake-ups for which at is still read early
}

// Wake is a wake-up of the tracer.
type Wake struct {
	At int64 // its time identifies it, CLOCK_MONOTONIC ns
	// ByTimer reports that the tracer's own timer woke it, on its processor. Otherwise the preempted thread was
	// interrupted from another processor, and skids.
	ByTimer bool
}

// queriedFor is the number of wake-ups after one with a query for which a query is likely again.
const queriedFor = 16

// Woken begins a tick's samples. If a query is likely, the scheduler's value for the tracer is read at once: the
// kernel updates it at each of its ticks, and the tracer would then seem to have arrived later than the other thread
// left.
func (d *PreemptionDetector) Woken(at int64) {
	d.found = false
	if d.queried > 0 {
		d.queried--
		d.start(at)
	}
}

// HasPreempted reports whether the tracer has preempted a thread sampled in this tick.
func (d *PreemptionDetector) HasPreempted() bool { return d.found }

// Processor gives the tracer's processor since a wake-up.
func (d *PreemptionDetector) Processor(woken int64) int {
	if d.here != woken || woken == 0 {
		d.here, d.cpu = woken, procmem.CPU()
	}
	return d.cpu
}

// start reads, once for each wake-up, when the tracer arrived on its processor.
func (d *PreemptionDetector) start(woken int64) bool {
	if d.self == nil {
		d.self = procmem.OpenThread(os.Getpid(), unix.Gettid(), procmem.NewBudget(0))
	}
	if d.woken != woken || woken == 0 {
		d.woken = woken
		d.at, d.ok = d.self.LastRun()
	}
	return d.ok
}

// Close closes the tracer's own file.
func (d *PreemptionDetector) Close() {
	if d.self != nil {
		d.self.Close()
		d.self = nil
	}
}

// Preempted reports, by the scheduler's value, whether a wake-up of the tracer preempted the thread with these files.
func (d *PreemptionDetector) Preempted(files *procmem.ThreadFiles, woken int64) bool {
	if d.queried = queriedFor; d.isKnown(woken) || !d.start(woken) { // another thread was
		return false
	}
	at, ok := files.LastRun()
	return ok && at == d.at && d.noteKnown(woken)
}

// byClock is Preempted by the thread's own clock; false if that is inconclusive.
func (d *PreemptionDetector) byClock(run Run, woken int64) bool {
	return d.known != woken && run.LastedUntil(woken) && d.noteKnown(woken)
}

// isKnown reports whether the thread preempted by a wake-up is known: at most one.
func (d *PreemptionDetector) isKnown(woken int64) bool { return d.known == woken && woken != 0 }

// noteKnown records that the preempted thread of a wake-up is known.
func (d *PreemptionDetector) noteKnown(woken int64) bool {
	d.known, d.found = woken, true
	return true
}

// Find decides, before a thread is sampled, whether a wake-up of the tracer preempted it, and records it in t. runs is
// the thread's count of arrivals, read before. The preempted thread is sampled first: it is queued behind the tracer,
// and an idle processor may take it, so that it runs on. That happens less often to a thread in a system call, which
// sleeps or soon will: without an order, calls would get more than their share.
func (d *PreemptionDetector) Find(t *Thread, files *procmem.ThreadFiles, runs uint64, woken int64) bool {
	if d.queried = queriedFor; d.isKnown(woken) || !d.start(woken) {
		return false
	}
	at, ok := files.LastRun()
	if !ok || at != d.at {
		return false
	}
	t.foundAt, t.foundRuns, t.cpu = woken, runs, d.Processor(woken)
	return d.noteKnown(woken)
}

// Decide decides, once for each sample, whether the tracer's wake-up preempted a thread; run is what the thread did
// since its last stop. waits reports that the thread is queued on the tracer's processor: it cannot stop before the
// tracer sleeps.
//
// It must be called before the tracer sleeps: when the thread runs again, the kernel's value is overwritten. As it
// takes some µs, it is called at once only if [Thread.MayWait], and otherwise for threads that do not stop in time.
func (d *PreemptionDetector) Decide(t *Thread, files *procmem.ThreadFiles, run Run, wake Wake) (waits bool) {
	if t.decided {
		return t.preempted
	}
	t.decided, t.late, t.cpu = true, !wake.ByTimer, d.Processor(wake.At)
	if t.preempted = t.Basis() == sample.FewCalls && d.byClock(run, wake.At); t.preempted {
		return true
	}
	if d.isKnown(wake.At) { // another one
		return false
	}
	var st procmem.Stat
	if files.Stat(&st) != nil || st.Processor != t.cpu {
		return false
	}
	t.preempted = d.Preempted(files, wake.At)
	return true
}

// Run is what a thread did since the end of its last stop.
type Run struct {
	// DetachedAt is the end of that stop, CLOCK_MONOTONIC in nanoseconds; 0 if the thread was not stopped, or did not
	// arrive on a processor exactly once since.
	DetachedAt int64
	// CPU is its CPU time since then, in nanoseconds.
	CPU int64
}

// justNow is the longest time before the tracer's wake-up at which a preempted thread can have left its processor, in
// nanoseconds.
const justNow = 60e3

// LastedUntil reports whether a thread has run from the end of its last stop up to a moment, CLOCK_MONOTONIC ns: its
// clock has then grown by as much. The kernel updates the clock when the thread leaves its processor. The clock is
// known already, while reading the scheduler's value ([procmem.ThreadFiles.LastRun]) takes 5 µs.
//
// It is also true of a thread on another processor whose clock was just updated, as every 4 ms. That thread was on a
// processor too, but its sample is not exact. So for threads with many system calls, or unclassified ones, the
// scheduler's value is read.
func (r Run) LastedUntil(moment int64) bool {
	return r.DetachedAt != 0 && r.CPU >= moment-r.DetachedAt-justNow
}
