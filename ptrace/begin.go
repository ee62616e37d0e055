// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// Begin attaches to a thread and interrupts it, without waiting: [Controller.WaitAny] or [Controller.Poll]
// reports the stop. An abandoned Tracee at the thread is reused. Errors: [ErrGone], [ErrDenied], [ErrTraced],
// [ErrZombie], [ErrKernelThread], [ErrSelf], [ErrBusy], [ErrPending] (with that Tracee), or an errno.
func (c *Controller) Begin(tid int) (*Tracee, error) { return c.BeginWith(tid, nil) }

// BeginWith is Begin that reads the thread's clocks from files just before the interrupt ([Tracee.Before]).
func (c *Controller) BeginWith(tid int, files *ThreadFiles) (*Tracee, error) {
	return c.begin(tid, files, nil)
}

// BeginSince is BeginWith with clocks that were read a few µs ago. A thread that has arrived on a processor since then
// counts as queued.
func (c *Controller) BeginSince(tid int, before *SchedStat) (*Tracee, error) {
	return c.begin(tid, nil, before)
}

func (c *Controller) begin(tid int, files *ThreadFiles, before *SchedStat) (*Tracee, error) {
	if l := c.tracees.find(tid); l != nil {
		return c.takeUp(l)
	}
	l := c.tracees.slot()
	if l == nil {
		return nil, ErrBusy
	}
	if err := c.seize(tid); err != nil {
		return nil, err
	}
	c.tracees.take(l, tid)
	c.stats.Begun++
	l.setBefore(files, before)
	l.times.Interrupt = procmem.Now()
	if e := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); e != 0 {
		l.abandoned = true // until its end is reported
		return nil, ErrGone
	}
	l.began = c.own.begin()
	c.spinFrom(l.times.Interrupt)
	return l, nil
}

// takeUp gives the Tracee that a thread has already, if it is abandoned.
func (c *Controller) takeUp(l *Tracee) (*Tracee, error) {
	if !l.abandoned {
		return l, ErrPending
	}
	l.abandoned, l.Tag, l.sleeping, l.queued = false, 0, false, false
	c.spinFrom(procmem.Now())
	return l, nil
}

func (l *Tracee) setBefore(files *ThreadFiles, before *SchedStat) {
	switch {
	case before != nil:
		l.before, l.beforeOK = *before, true
	case files != nil:
		sched, err := files.SchedStat()
		l.before, l.beforeOK = sched, err == nil
	}
}

func (c *Controller) spinFrom(now int64) {
	c.wakeup = now + int64(c.opts.SpinFor)
	if c.audit < now {
		c.audit = now + auditEvery
	}
}

// Cancel gives a Tracee up. A stopped thread is detached at once, another one by a later WaitAny when it stops.
func (c *Controller) Cancel(l *Tracee) {
	switch l.state {
	case traceeStopped:
		c.detachAndFree(l)
	case traceeGone:
		c.tracees.free(l)
	case traceePending:
		if !l.abandoned {
			l.abandoned = true
			c.stats.Abandoned++
		}
		c.poll(l)
	}
}

// StopThread is Begin, a wait until the deadline (on the clock of [Now]), and Finish. Errors: [ErrTimeout], and those
// of Begin and Finish.
func (c *Controller) StopThread(tid int, deadline int64, req *Request, out *Stop) error {
	l, err := c.Begin(tid)
	if err != nil && !errors.Is(err, ErrPending) {
		return err
	}
	sleep := int64(sleepMin)
	for !c.Poll(l) {
		now := procmem.Now()
		if now >= deadline {
			c.Cancel(l)
			return ErrTimeout
		}
		if now >= c.wakeup {
			c.nanosleep(min(sleep, deadline-now))
			sleep = min(sleep*2, sleepMax)
		}
		if now >= c.audit {
			c.audit = now + auditEvery
			c.checkOne(l)
		}
	}
	err = c.Finish(l, req, out)
	c.serveLost()
	return err
}
