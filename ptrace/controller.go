// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// Options of a [Controller]. The zero value has sensible defaults.
type Options struct {
	// MaxPending is the most Tracees at once, abandoned ones included; default 256.
	MaxPending int
	// SpinFor bounds the spinning of a wait before it sleeps; default 40 µs. It halves the target's pause.
	SpinFor time.Duration
	// ReadOnly forbids writes of registers: interrupted calls then give EINTR ([Stats.Broken]).
	ReadOnly bool
	// NoCollector means that the caller prevents garbage collections while a Tracee is pending, and sets GOMAXPROCS
	// to two or more. Seizures then bypass the Go scheduler.
	NoCollector bool
	// KeepPriority means that the controller does not change the scheduling priority.
	KeepPriority bool
	// Frugal, with NoCollector, lets waits sleep until a stop also without a real-time priority. Pauses are
	// longer, but a late stop does not cost thousands of short sleeps.
	Frugal bool
}

// Stats counts what a controller did.
type Stats struct {
	// Begun counts Tracees, Finished those with registers.
	Begun, Finished uint64
	// Signals counts signal-delivery-stops, Groups group stops.
	Signals, Groups uint64
	// Restarted counts restarted system calls, Broken those left with EINTR or EAGAIN. ReportedTwice counts those
	// described at [Repair.ReportedTwice].
	Restarted, Broken, ReportedTwice uint64
	// Stolen counts stops that another thread's wait consumed.
	Stolen uint64
	// Abandoned counts Tracees given up.
	Abandoned uint64
	// Lowered counts how often the watchdog took the real-time priority from a thread that did not sleep.
	Lowered uint64
}

// Controller stops threads. Its methods are for the OS thread that made it ([runtime.LockOSThread], or [Run]).
type Controller struct {
	Sleeper
	opts          Options
	tid           int
	priority      priority
	rescue        *rescue
	tracees       table
	stats         Stats
	unknownTracee bool // there may be a tracee with an unknown id
	leaves        bool // Leave was called
	seized        bool // a seizure has succeeded: no seccomp filter refuses it

	// Moments on the clock of Now.
	wakeup        int64 // end of spinning in waits
	lastEmptyPoll int64 // begin of the last poll that found no stop
	nextAudit     int64 // next check of all pending Tracees
	info          sigInfo

	captured capture
	repairs  repairer
	began    threadCounters // of the last finished Tracee
}

// NewController makes a controller for the calling OS thread, to which the goroutine must be locked. It raises
// that thread's priority, sets SA_NOCLDSTOP for SIGCHLD, and waits while [Leaving].
func NewController(opts Options) *Controller {
	if opts.MaxPending <= 0 {
		opts.MaxPending = 256
	}
	if opts.SpinFor <= 0 {
		opts.SpinFor = 40 * time.Microsecond
	}
	c := &Controller{opts: opts, tid: unix.Gettid(), rescue: newRescue(opts.MaxPending)}
	c.tracees = table{tracees: make([]Tracee, opts.MaxPending), rescue: c.rescue}
	c.repairs = repairer{regs: &c.captured.regs, readOnly: opts.ReadOnly}
	tracers.enter(c)
	c.priority.name = "normal"
	if !opts.KeepPriority {
		c.watchdog = c.priority.raise(c.tid, opts.NoCollector)
	}
	quietChildStops()
	if (c.priority.name == "fifo" || opts.Frugal) && opts.NoCollector {
		c.alarm.open(c.tid)
	}
	go c.rescue.run(&c.alarm)
	return c
}

// Run calls body with a controller on an OS thread of its own, and detaches from all threads in the end. That
// OS thread then ends, so that the kernel detaches the rest.
func Run(opts Options, body func(*Controller) error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		c := NewController(opts)
		defer c.Close()
		done <- runBody(c, body)
	}()
	return <-done
}

func runBody(c *Controller, body func(*Controller) error) error {
	defer c.Close()
	return body(c)
}

// Scheduling gives the thread's priority: "fifo" (real-time), "nice" (better than normal) or "normal".
func (c *Controller) Scheduling() string { return c.priority.name }

// ReadOnly reports Options.ReadOnly.
func (c *Controller) ReadOnly() bool { return c.opts.ReadOnly }

// Stats gives the counts.
func (c *Controller) Stats() Stats {
	s := c.stats
	if c.watchdog != nil {
		s.Lowered = uint64(c.watchdog.times.Load())
	}
	return s
}

// Pending gives the number of Tracees that are not finished, abandoned ones included.
func (c *Controller) Pending() int { return c.tracees.live }

const closeWait = 50 * time.Millisecond

// Close detaches from all threads and restores the priority. It gives the number of threads that did not stop
// in time and stay attached until the OS thread ends. It may be repeated.
func (c *Controller) Close() int {
	c.Leave()
	for i := range c.tracees.inUse() {
		c.Cancel(&c.tracees.tracees[i])
	}
	for end := procmem.Now() + int64(closeWait); (c.tracees.live > 0 || c.unknownTracee) && procmem.Now() < end; {
		if c.WaitAny(procmem.Now()+int64(time.Millisecond)) == nil {
			c.eachPending((*Controller).checkOne)
		}
	}
	c.rescue.close()
	c.endSleeps()
	c.priority.restore()
	tracers.left(c)
	return c.tracees.live
}
