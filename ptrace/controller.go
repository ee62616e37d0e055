// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// Options configure a [Controller]. Zero values have defaults.
type Options struct {
	MaxPending int // most attachments in use, cancelled ones included; default 256
	// ReadOnly forbids writes of registers: calls that a stop interrupts then give EINTR ([Stats.Broken]).
	ReadOnly bool
	// NoGC states that GOMAXPROCS is at least 2, and that garbage collections, which delay the end of a stop, mostly begin
	// while no thread is attached, or while the controller's owner waits for their end and finishes stops meanwhile.
	// Waits then sleep until a stop.
	NoGC         bool
	KeepPriority bool
	// SleepUntilStop, with NoGC: waits sleep until a stop at ordinary priority, too. It costs less CPU time, but makes
	// stops longer.
	SleepUntilStop bool
}

// Stats are a controller's counts.
type Stats struct {
	Finished                         uint64 // attachments whose registers were read
	SignalStops, GroupStops          uint64
	Restarted, Broken, ReportedTwice uint64 // system calls, see [Repair]
	LostReports                      uint64 // stops whose report another wait consumed
	Lowered                          uint64 // times that the watchdog took real-time priority
}

func (s *Stats) count(attachment *Attachment) {
	switch attachment.kind {
	case KindSignal:
		s.SignalStops++
	case KindGroup:
		s.GroupStops++
	}
	if attachment.repair.Restarted {
		s.Restarted++
	}
	if attachment.repair.Broken {
		s.Broken++
	}
	if attachment.repair.ReportedTwice {
		s.ReportedTwice++
	}
}

// Controller stops threads. Its methods must be called on the OS thread that made it (runtime.LockOSThread, or [Run]).
type Controller struct {
	priority            priority
	Sleeper             Sleeper
	stopper             stopper
	info                sigInfo
	tid                 int
	mayTraceUnknown     bool // an exec may have renumbered a tracee
	renumbered          int  // process of the last one; 0 means none
	suspendAcknowledged bool

	spinUntil, lastEmptyPoll, nextCheckAll Moment
}

// NewController makes a controller for the calling OS thread, to which the goroutine must be locked. It raises the
// thread's priority, sets SA_NOCLDSTOP for SIGCHLD, and blocks while [Suspending].
func NewController(opts Options) *Controller {
	if opts.MaxPending <= 0 {
		opts.MaxPending = 256
	}
	c := &Controller{}
	c.tid = unix.Gettid()
	c.stopper.rescuer = &rescuer{tids: make([]atomic.Int32, opts.MaxPending), end: make(chan struct{})}
	c.stopper.attachments = attachmentTable{list: make([]Attachment, opts.MaxPending), rescuer: c.stopper.rescuer}
	c.stopper.repairs = repairer{regs: &c.stopper.captured.regs, readOnly: opts.ReadOnly}
	controllers.add(c)
	c.priority.name = "normal"
	if !opts.KeepPriority {
		c.Sleeper.watchdog = c.priority.raise(c.tid, opts.NoGC)
	}
	setNoChildStop()
	fifo := c.priority.name == "fifo"
	if (fifo || opts.SleepUntilStop) && opts.NoGC {
		c.Sleeper.alarm.open(c.tid)
		c.Sleeper.ownQueue.open(c.tid, !fifo, c.Sleeper.watchdog)
	}
	go c.stopper.rescuer.run(&c.Sleeper.alarm)
	return c
}

// Run calls body with a controller on a new OS thread, then ends the thread, which detaches any tracee left. It returns
// body's error.
func Run(opts Options, body func(*Controller) error) (err error) {
	procmem.OnOSThread(func() {
		c := NewController(opts)
		defer c.Close()
		err = body(c)
	})
	return err
}

// Scheduling returns the priority: "fifo" (real-time), "nice" (better than normal) or "normal".
func (c *Controller) Scheduling() string { return c.priority.name }

// ReadOnly returns Options.ReadOnly.
func (c *Controller) ReadOnly() bool { return c.stopper.repairs.readOnly }

// Stats returns the counts.
func (c *Controller) Stats() Stats {
	s := c.stopper.stats
	if c.Sleeper.watchdog != nil {
		s.Lowered = uint64(c.Sleeper.watchdog.count.Load())
	}
	return s
}

const closeWait = 50 * time.Millisecond

// Close detaches all threads and restores the priority. It returns how many threads may still be attached
// ([Controller.Attached]), until the OS thread ends. It may be called again.
func (c *Controller) Close() int {
	c.AcknowledgeSuspend()
	for i := range c.stopper.attachments.inUse() {
		c.Cancel(&c.stopper.attachments.list[i])
	}
	for end := Now().Add(closeWait); c.Attached() > 0 && Now() < end; {
		if c.WaitAny(Now().Add(time.Millisecond)) == nil {
			c.firstOfPending((*Controller).checkOne)
		}
	}
	c.stopper.rescuer.once.Do(func() { close(c.stopper.rescuer.end) })
	c.Sleeper.endSleeps()
	c.priority.restore()
	controllers.remove(c)
	return c.Attached()
}

// StopThread is Begin, a wait until the deadline, on the clock of [Now], and Finish. A pending stop is continued.
// Errors: [ErrTimeout], after Cancel, and those of Begin and Finish.
func (c *Controller) StopThread(tid int, deadline Moment, req *Request, out *Stop) error {
	attachment, err := c.Begin(tid)
	if err != nil && !errors.Is(err, ErrPending) {
		c.awaitUnknown()
		return err
	}
	sleep := minSleep
	for !c.Poll(attachment) {
		now := Now()
		if now >= deadline {
			c.Cancel(attachment)
			return ErrTimeout
		}
		if now >= c.spinUntil {
			c.Sleeper.nanosleep(min(sleep, deadline.Sub(now)))
			sleep = min(sleep*2, maxSleep)
		}
		if now >= c.nextCheckAll {
			c.nextCheckAll = now.Add(checkAllEvery)
			c.checkOne(attachment)
		}
	}
	err = c.Finish(attachment, req, out)
	c.awaitUnknown()
	return err
}
