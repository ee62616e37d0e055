package sampler

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// admit begins a process's account.
func (a *accountant) admit(e *event) {
	a.procs[e.proc] = struct{}{}
	e.proc.comm = e.proc.target.Comm
	e.proc.nsPID = inside(e.proc.target.PID)
}

// exec deals with a process whose first thread has changed its name: what was seen
// before is booked under the old one, and the mappings are read anew.
func (a *accountant) exec(e *event) {
	if e.thread.started {
		a.settleEarly(e.thread, false)
		e.thread.clock.cut(a.emitter(e.thread))
	}
	e.thread.named = 0
	a.rename(e.thread, e.at.Wall)
	a.unwind.books.lend()
	e.proc.refresh(e.at.Wall)
	a.unwind.books.back()
	e.proc.comm = e.thread.name
}

// exit ends a process's account: it books the processor time that belongs to no
// look, and lets go of the process.
func (a *accountant) exit(p *process, now int64) {
	if p.exited {
		return
	}
	p.exited = true
	delete(a.procs, p)
	if a.selected {
		// The last looks at its threads may be later than the last reading of its clock.
		a.totals.target += max(int64(p.cpu-p.cpu0), p.used)
	} else {
		unseen := max(p.endedCPU-p.endedSeen, 0)
		a.totals.target += p.used + unseen
		a.bookUnseen(p, unseen+p.givenBack, now)
	}
	a.unwind.forgetModules(p, nil)
	a.close(p)
}

// end takes note of what a thread used that the process's clock counts as that of threads that have ended, up to
// its last look; or, if it goes on, books what it has done since then.
func (a *accountant) end(e *event) {
	th := e.thread
	switch {
	case !e.alive && th.started:
		th.proc.endedSeen += th.clock.last.CPU
		if !a.selected {
			th.proc.ended(th)
		}
	case !e.alive:
		th.proc.endedSeen += th.before.CPU
	case e.rest.Wall == 0:
	case th.started:
		if e.rest.CPU > th.clock.last.CPU {
			th.clock.ends(e.rest, e.length, a.emitter(th))
		}
	case e.rest.CPU > th.before.CPU: // it could never be looked at
		a.open(th)
		if th.clock.begin(th.before); th.born {
			th.clock.begin(th.birth(e.rest))
		}
		th.clock.ends(e.rest, 0, a.emitter(th))
	}
}

// closeAccounts books all that is open when the controller has sent its last
// event: nothing, unless it broke down.
func (a *accountant) closeAccounts(now int64) {
	for th := range a.threads {
		a.finish(th)
	}
	clear(a.threads)
	for p := range a.procs {
		a.exit(p, now)
	}
}

// ticksPerSecond is the unit of start times in /proc (USER_HZ).
const ticksPerSecond = 100

// bootTicks gives the present moment as /proc gives start times.
func bootTicks() uint64 { return uint64(bootTime()) / (1e9 / ticksPerSecond) }

// bootTime gives the time since boot, suspended time included, in nanoseconds.
func bootTime() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it exists since Linux 2.6.39
	return ts.Nano()
}

// startOf gives a start time in CLOCK_MONOTONIC nanoseconds, to a tick.
func startOf(ticks uint64) int64 {
	return int64(ticks)*(1e9/ticksPerSecond) + procmem.Now() - bootTime()
}
