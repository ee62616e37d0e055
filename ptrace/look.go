package ptrace

import (
	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

// Look is one look at one thread, from Begin to Finish or Cancel. It belongs to
// its controller and is used again afterwards: do not keep it.
type Look struct {
	// Tag is the caller's, to find its own data by; zero at Begin.
	Tag uint64

	tid       int
	place     int // in Controller.looks
	state     lookState
	abandoned bool
	sleeping  bool                // call and runs are known from before the stop
	queued    bool                // see Queued
	broken    bool                // EINTR was seen and left
	restarted bool                // EINTR was hidden
	gaveUp    bool                // see Stop
	told      bool                // see Stop
	kind      Kind                // once stopped
	signal    int32               // to pass on at the detach
	call      procmem.SyscallInfo // see Sleeping
	runs      uint64              // see Sleeping

	before   procmem.SchedStat // see Before
	beforeOK bool
	began    account // after the interrupt

	interruptNS, runningNS, stopNS, takenNS, copiedNS, detachNS int64
}

type lookState uint8

const (
	lookFree lookState = iota
	lookPending
	lookStopped
	lookGone
)

// Kind is the kind of stop that a look found.
type Kind uint8

// The kinds of stop (ptrace(2), "Stopped states").
const (
	// KindNone: not stopped.
	KindNone Kind = iota
	// KindInterrupt: the stop that the look asked for.
	KindInterrupt
	// KindSignal: a signal came first; it is passed on.
	KindSignal
	// KindGroup: the process is stopped (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU) and
	// stays so.
	KindGroup
)

// TID gives the thread.
func (l *Look) TID() int { return l.tid }

// Interrupted gives the time of the interrupt, on the clock of procmem.Now.
func (l *Look) Interrupted() int64 { return l.interruptNS }

// Before gives the clocks that were read just before the interrupt, if they were.
func (l *Look) Before() (procmem.SchedStat, bool) { return l.before, l.beforeOK }

// Ended reports whether the thread ended before it stopped; Finish then gives
// [ErrGone].
func (l *Look) Ended() bool { return l.state == lookGone }

// Sleeping tells the look in which system call the thread was asleep before it was
// begun, and the thread's count of arrivals on a processor from before that was seen.
// Call it before the look is finished. On arm64 some calls that the look breaks can
// be restarted only with it, because the kernel overwrites the first argument with
// the result.
func (l *Look) Sleeping(call *procmem.SyscallInfo, runs uint64) {
	l.sleeping, l.call, l.runs = true, *call, runs
}

// Begin attaches to a thread and asks it to stop; it does not wait. The look is
// pending until [Controller.WaitAny] or [Controller.Poll] says that the thread has
// stopped. Errors: [ErrGone], [ErrDenied], [ErrTraced], [ErrZombie],
// [ErrKernelThread], [ErrSelf], [ErrBusy], [ErrPending] (with that look), or an
// error number that the kernel gave. An abandoned look at the same thread is
// taken up again.
func (c *Controller) Begin(tid int) (*Look, error) { return c.BeginWith(tid, nil) }

// BeginWith is Begin, and reads the clocks of the thread, whose files these are,
// between the attachment and the interrupt ([Look.Before]): whoever wants to know
// whether it was on a processor when it was interrupted must not have asked earlier.
func (c *Controller) BeginWith(tid int, files *procmem.ThreadFiles) (*Look, error) {
	l := c.find(tid)
	if l != nil {
		if !l.abandoned {
			return l, ErrPending
		}
		l.abandoned, l.Tag, l.sleeping, l.queued = false, 0, false, false
		c.spinUntil(procmem.Now())
		return l, nil
	}
	if l = c.slot(); l == nil {
		return nil, ErrBusy
	}
	if err := c.seize(tid); err != nil {
		return nil, err
	}
	*l = Look{tid: tid, place: l.place, state: lookPending}
	if files != nil {
		sched, err := files.SchedStat()
		l.before, l.beforeOK = sched, err == nil
	}
	l.interruptNS = procmem.Now()
	c.rescue.tids[l.place].Store(int32(tid))
	c.live++
	c.stats.Begun++
	if e := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); e != 0 {
		l.abandoned = true // it is exiting; its end is waited for
		return nil, ErrGone
	}
	l.began = c.own.begin()
	c.spinUntil(l.interruptNS)
	return l, nil
}

// Queued tells that the thread cannot stop while this thread runs, because it waits for this
// thread's processor: waits do not spin for it. Where they sleep in naps, the next one is as short
// as that thread is thought to take.
func (l *Look) Queued() { l.queued = true }

// spinUntil lets waits spin for some time from now.
func (c *Controller) spinUntil(now int64) {
	c.wakeup = now + int64(c.opts.SpinFor)
	if c.audit < now {
		c.audit = now + auditEvery
	}
}

// find gives the look at a thread, nil if there is none.
func (c *Controller) find(tid int) *Look {
	for i := range c.looks[:c.used] {
		if l := &c.looks[i]; l.tid == tid && l.state != lookFree {
			return l
		}
	}
	return nil
}

// slot gives a free look, nil if there is none.
func (c *Controller) slot() *Look {
	for i := range c.looks {
		if l := &c.looks[i]; l.state == lookFree {
			c.used = max(c.used, i+1)
			l.place = i
			return l
		}
	}
	return nil
}

// free gives a look back.
func (c *Controller) free(l *Look) {
	c.rescue.tids[l.place].Store(0)
	*l = Look{}
	c.live--
	for c.used > 0 && c.looks[c.used-1].state == lookFree {
		c.used--
	}
}

// Cancel gives a look up. A thread that has stopped is let go at once. One that
// has not cannot be detached from yet: the look stays pending, abandoned, and
// WaitAny lets the thread go when it stops, so WaitAny must go on being called.
func (c *Controller) Cancel(l *Look) {
	switch l.state {
	case lookStopped:
		c.letGo(l)
	case lookGone:
		c.free(l)
	case lookPending:
		if !l.abandoned {
			l.abandoned = true
			c.stats.Abandoned++
		}
		c.poll(l)
	}
}
