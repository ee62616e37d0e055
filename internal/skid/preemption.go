// SPDX-License-Identifier: Apache-2.0

package skid

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// Tracer finds the thread that the tracer's own wake-up preempted.
//
// At a tick, a thread is on a processor if a look finds it there. But one processor now runs the tracer. Whoever
// ran on it when the tick was due was preempted. If the kernel is not pre-emptible and it was in a system call, it
// went on to the end of that call or to sleep in it. The tracer came next in either case, and the user's stack has
// not changed since. That thread was on a processor at the tick as much as those on the others. Leaving it out
// would favour what the others do. The kernel tells which it is: it reads its clock once when one thread replaces
// another.
//
// All methods run on the tracer's OS thread.
type Tracer struct {
	self  *procmem.ThreadFiles
	woken int64 // the wake-up that at is of
	at    int64 // when the tracer was put on its processor, the scheduler's clock
	ok    bool
	cpu   int
	here  int64 // the wake-up that cpu is of
	found bool  // a thread was preempted at this tick
	known int64 // the wake-up for which the one that was preempted is known
	asked int   // for so many wake-ups more it is likely that at is asked for
}

// Wake is a wake-up of the tracer.
type Wake struct {
	At int64 // its name: the moment, CLOCK_MONOTONIC ns
	// ByTimer: the tracer's own timer woke it, on the processor on which it is. Else whoever it preempted was interrupted
	// from afar, and skids as others do.
	ByTimer bool
}

// askedFor is for how many wake-ups after one for which the scheduler was asked that is likely again.
const askedFor = 16

// Woken begins with the looks of another tick. If the scheduler is likely to be asked, it is at once: what it says of
// the tracer itself holds until the kernel next brings its clock up to date. It does so at each of its own ticks, and
// then it seems as if the tracer had come to its processor later than the other one left.
func (d *Tracer) Woken(at int64) {
	d.found = false
	if d.asked > 0 {
		d.asked--
		d.start(at)
	}
}

// InTheWay reports whether the tracer has preempted a thread that was looked at in this tick.
func (d *Tracer) InTheWay() bool { return d.found }

// Processor gives the processor that the tracer runs on since a wake-up.
func (d *Tracer) Processor(woken int64) int {
	if d.here != woken || woken == 0 {
		d.here, d.cpu = woken, procmem.CPU()
	}
	return d.cpu
}

// start finds out, once after each wake-up, when the tracer was put on its processor.
func (d *Tracer) start(woken int64) bool {
	if d.self == nil {
		d.self = procmem.OpenThread(os.Getpid(), unix.Gettid(), procmem.NewBudget(0))
	}
	if d.woken != woken || woken == 0 {
		d.woken = woken
		d.at, d.ok = d.self.LastRun()
	}
	return d.ok
}

// Close lets go of the file that is kept open, the tracer's own.
func (d *Tracer) Close() {
	if d.self != nil {
		d.self.Close()
		d.self = nil
	}
}

// Preempted asks the scheduler whether a wake-up of the tracer has preempted the thread with these files.
func (d *Tracer) Preempted(files *procmem.ThreadFiles, woken int64) bool {
	if d.asked = askedFor; d.isKnown(woken) || !d.start(woken) { // it was another one
		return false
	}
	at, ok := files.LastRun()
	return ok && at == d.at && d.note(woken)
}

// byClock reports whether it has, by the thread's own clock alone: false if that does not tell.
func (d *Tracer) byClock(run Run, woken int64) bool {
	return d.known != woken && run.UpTo(woken) && d.note(woken)
}

// isKnown reports whether it is known whom a wake-up has preempted: one thread at most.
func (d *Tracer) isKnown(woken int64) bool { return d.known == woken && woken != 0 }

// note notes that the one that a wake-up preempted is known.
func (d *Tracer) note(woken int64) bool {
	d.known, d.found = woken, true
	return true
}

// Find finds out whether a wake-up of the tracer preempted a thread, before it is looked at, and notes it there. The
// thread that was preempted is to be looked at first of all. It is queued behind the tracer, and another processor
// that falls idle takes it from there. It then goes on, and is lost for this tick. Whoever was put off in a system
// call goes on less often, as he sleeps or soon will: so the calls would get more than their share. runs is the
// thread's count of arrivals on a processor, read before.
func (d *Tracer) Find(t *Thread, files *procmem.ThreadFiles, runs uint64, woken int64) bool {
	if d.asked = askedFor; d.isKnown(woken) || !d.start(woken) {
		return false
	}
	at, ok := files.LastRun()
	if !ok || at != d.at {
		return false
	}
	t.foundAt, t.foundRuns, t.cpu = woken, runs, d.Processor(woken)
	return d.note(woken)
}

// Judge finds out, once a look, whether the tracer's wake-up preempted a thread, with what the thread has done since
// its last stop. The result: it waits for the tracer's processor, so that it cannot stop before the tracer sleeps.
//
// That has to be done before the tracer sleeps, as the kernel forgets it when the thread runs again. It takes long,
// so it is done at once only where [Thread.MayWait] says so, and else for those that do not stop in time.
func (d *Tracer) Judge(t *Thread, files *procmem.ThreadFiles, run Run, wake Wake) (waits bool) {
	if t.judged {
		return t.preempted
	}
	t.judged, t.late, t.cpu = true, !wake.ByTimer, d.Processor(wake.At)
	if t.preempted = t.Basis() == sample.FewCalls && d.byClock(run, wake.At); t.preempted {
		return true
	}
	if d.isKnown(wake.At) { // it is another one
		return false
	}
	var st procmem.Stat
	if files.Stat(&st) != nil || st.Processor != t.cpu {
		return false
	}
	t.preempted = d.Preempted(files, wake.At)
	return true
}

// Run is what a thread has done since it was let go after its last stop.
type Run struct {
	// LetGo is when that was, CLOCK_MONOTONIC in nanoseconds. It is 0 if the thread was not stopped, or was not put on a
	// processor once since.
	LetGo int64
	// CPU is its processor time since then, in nanoseconds.
	CPU int64
}

// justNow is how long before the tracer's wake-up a thread can have been taken off its processor
// that is taken to have been there until then, in nanoseconds.
const justNow = 60e3

// UpTo reports whether a thread has been put on a processor once since its last stop, and has run from then on up
// to a moment. Its clock, which stands still while it runs, says so when it has just been taken off. It costs
// nothing, where the scheduler's own answer ([procmem.ThreadFiles.LastRun]) takes 5 µs.
//
// Of a thread that runs elsewhere it is true as well, if its clock was brought up to date just now. That is done
// every 4 ms, and by a thread that it wakes up there. Such a one was on its processor too, but is not looked at
// exactly by that. So of threads that make many system calls, or of which that is not known, the scheduler is asked.
func (r Run) UpTo(moment int64) bool {
	return r.LetGo != 0 && r.CPU >= moment-r.LetGo-justNow
}
