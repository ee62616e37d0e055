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
	found bool // a thread whose place was taken at this tick
}

// Woken tells when the tracer's thread woke up for the looks that follow
// (CLOCK_MONOTONIC, ns).
func (l *Looker) Woken(at int64) { l.woken, l.put.found = at, false }

// InTheWay reports whether the tracer's thread has taken the place of a thread that was
// looked at since [Looker.Woken], and on which processor.
func (l *Looker) InTheWay() (cpu int, ok bool) { return l.put.cpu, l.put.found }

// start finds out, once after each wake-up, when the tracer was put on its processor.
func (d *displaced) start(woken int64) bool {
	if d.self == nil {
		d.self = procmem.OpenThread(os.Getpid(), unix.Gettid(), procmem.NewBudget(0))
	}
	if d.woken != woken || woken == 0 {
		d.woken, d.cpu = woken, procmem.CPU()
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
	if !d.start(woken) {
		return false
	}
	at, ok := t.files.LastRun()
	ok = ok && at == d.at
	d.found = d.found || ok
	return ok
}

// wake gives the tracer's last wake-up, from its sleep between ticks or from a nap
// while it waited for threads to stop.
func (l *Looker) wake() int64 { return max(l.woken, l.ctl.Woken()) }
