package sampler

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/profile"
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
	e.proc.refresh(e.at.Wall)
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
	// The last looks at its threads may be later than the last reading of its clock.
	used := max(int64(p.cpu-p.cpu0), p.booked)
	a.totals.target += used
	if rest := used - p.booked; rest > 0 && !a.selected {
		a.bookUnseen(p, rest, now)
	}
	a.close(p)
}

// maxUnseen bounds the number of intervals for a process's unseen time.
const maxUnseen = 1024

// bookUnseen books processor time under [exited unseen]. Several threads can have
// used more than the time that there was: it becomes as many intervals as are
// needed so that none began before sampling did.
func (a *accountant) bookUnseen(p *process, rest, now int64) {
	a.totals.exitedUnseen += rest
	a.totals.profiled += rest
	window := max(now-p.since, rest/maxUnseen+1)
	for ; rest > 0; rest -= window {
		cpu := min(rest, window)
		a.builder.Add(profile.Interval{
			Stack: a.builder.Intern([]profile.Loc{{Synthetic: ExitedUnseen}}),
			PID:   p.target.PID, TID: p.target.PID, NSPID: p.nsPID, NSTID: p.nsPID, Comm: p.comm, Thread: p.comm,
			State: Running.String(), End: a.epoch + now, Wall: cpu, CPU: cpu,
		})
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
