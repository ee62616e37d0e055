package look

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// displaced finds the thread whose processor the tracer's own wake-up took.
//
// At a tick, a thread is on a processor if a look finds it there. But one processor
// now runs the tracer. Whoever ran on it when the tick was due was put off it, or, if
// the kernel is not pre-emptible and it was in a system call, it went on to the end
// of that call or to sleep in it; the tracer came next in either case, and the user's
// stack has not changed since. That thread was on a processor at the tick as much as
// those on the others, and leaving it out would favour what the others do. The kernel
// tells which it is: it reads its clock once when one thread replaces another.
type displaced struct {
	self  *procmem.ThreadFiles
	woken int64 // the wake-up that at is of
	at    int64 // when the tracer was put on its processor, the scheduler's clock
	ok    bool
	cpu   int
	here  int64 // the wake-up that cpu is of
	found bool  // a thread whose place was taken at this tick
	taken int64 // the wake-up for which the one whose place was taken is known
}

// Woken tells when the tracer's thread woke up for the looks that follow
// (CLOCK_MONOTONIC, ns).
func (l *Looker) Woken(at int64) { l.woken, l.put.found = at, false }

// InTheWay reports whether the tracer's thread has taken the place of a thread that was
// looked at since [Looker.Woken], and on which processor.
func (l *Looker) InTheWay() (cpu int, ok bool) {
	if !l.put.found {
		return -1, false
	}
	return l.put.processor(l.wake()), true
}

// processor gives the processor that the tracer runs on since it woke up.
func (d *displaced) processor(woken int64) int {
	if d.here != woken || woken == 0 {
		d.here, d.cpu = woken, procmem.CPU()
	}
	return d.cpu
}

// start finds out, once after each wake-up, when the tracer was put on its processor.
func (d *displaced) start(woken int64) bool {
	if d.self == nil {
		d.self = procmem.OpenThread(os.Getpid(), unix.Gettid(), procmem.NewBudget(0))
	}
	if d.woken != woken || woken == 0 {
		d.woken = woken
		d.at, d.ok = d.self.LastRun()
	}
	return d.ok
}

// Close lets go of the file that the looker keeps open, its thread's own.
func (l *Looker) Close() {
	if l.put.self != nil {
		l.put.self.Close()
		l.put.self = nil
	}
}

// is reports whether the tracer has taken a thread's place.
func (d *displaced) is(t *Thread, woken int64) bool {
	if d.taken == woken && woken != 0 || !d.start(woken) { // the one whose place it took was another
		return false
	}
	at, ok := t.files.LastRun()
	return ok && at == d.at && d.take(woken)
}

// byClock reports whether it has, by the thread's own clock alone: false if that does not tell.
func (d *displaced) byClock(t *Thread, woken int64) bool {
	return d.taken != woken && t.ranUpTo(woken) && d.take(woken)
}

// take notes that the one whose place was taken at a wake-up is known.
func (d *displaced) take(woken int64) bool {
	d.taken, d.found = woken, true
	return true
}

// justNow is how long before the tracer's wake-up a thread can have been taken off its processor
// that is taken to have been there until then, in nanoseconds.
const justNow = 60e3

// ranUpTo reports whether a thread has been put on a processor once since its last stop, and has run from
// then on up to a moment: its clock, which stands still while it runs, says so when it has just been taken
// off. It costs nothing, where the scheduler's own answer ([procmem.ThreadFiles.LastRun]) takes 5 µs.
//
// Of a thread that runs elsewhere it is true as well, if its clock was brought up to date just now, as at
// every 4 ms, or by a thread that it woke up there; such a one was on its processor too, but is not looked
// at exactly by that. So of threads that make many system calls, or of which that is not known, the
// scheduler is asked.
func (t *Thread) ranUpTo(moment int64) bool {
	since := t.base
	return since.valid && since.letGo != 0 && t.before.Runs == since.runs+1 &&
		int64(t.before.CPU-since.cpu) >= moment-since.letGo-justNow
}

// settlePutOff finds out whether the tracer's wake-up took the processor from a thread, and whether the
// thread waits for that processor, so that it cannot stop before the tracer sleeps. That has to be done
// before the tracer sleeps, as the kernel forgets it when the thread runs again. It takes long, so it is
// done at once only for those that are likely to wait, or must be looked at exactly ([exits]), and else for
// those that do not stop in time.
func (l *Looker) settlePutOff(t *Thread) (waits bool) {
	if t.judged {
		return t.putOff
	}
	t.judged = true
	woken := l.wake()
	if t.putOff = t.exits.basis() == FewCalls && l.put.byClock(t, woken); t.putOff {
		return true
	}
	var st procmem.Stat
	if t.files.Stat(&st) != nil || st.Processor != l.put.processor(woken) {
		return false
	}
	t.putOff = l.put.is(t, woken)
	return true
}

// settleAll does so for all whose looks are under way.
func (l *Looker) settleAll() {
	for _, t := range l.pending {
		if t != nil && !t.judged && l.settlePutOff(t) {
			t.freezing.Queued()
		}
	}
}

// wake gives the tracer's last wake-up, from its sleep between ticks or from a nap
// while it waited for threads to stop.
func (l *Looker) wake() int64 { return max(l.woken, l.ctl.Woken()) }
