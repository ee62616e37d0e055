// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// Look is one look at one thread, from Begin to Finish or Cancel. It belongs to
// its controller and is used again afterwards: do not keep it.
type Look struct {
	// Tag is the caller's, to find its own data by; zero at Begin.
	Tag uint64

	tid       int
	index     int // in Controller.looks
	state     lookState
	abandoned bool
	sleeping  bool        // call and runs are known from before the stop
	queued    bool        // see Queued
	broken    bool        // EINTR was seen and left
	restarted bool        // EINTR was hidden
	gaveUp    bool        // see Stop
	told      bool        // see Stop
	kind      Kind        // once stopped
	signal    int32       // to pass on at the detach
	call      SyscallInfo // see Sleeping
	runs      uint64      // see Sleeping

	before   SchedStat // see Before
	beforeOK bool
	began    account // after the interrupt

	interruptNS, runningNS, stopNS, takenNS, copiedNS, detachNS int64

	takenCalls, copiedCalls int64
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

// Interrupted gives the time of the interrupt, on the clock of [Now].
func (l *Look) Interrupted() int64 { return l.interruptNS }

// Before gives the clocks that were read just before the interrupt, if they were.
func (l *Look) Before() (SchedStat, bool) { return l.before, l.beforeOK }

// Ended reports whether the thread ended before it stopped; Finish then gives
// [ErrGone].
func (l *Look) Ended() bool { return l.state == lookGone }

// Sleeping tells the look in which system call the thread was asleep before it was
// begun, and the thread's count of arrivals on a processor from before that was seen.
// Call it before the look is finished. On arm64 some calls that the look breaks can
// be restarted only with it, because the kernel overwrites the first argument with
// the result.
func (l *Look) Sleeping(call *SyscallInfo, runs uint64) {
	l.sleeping, l.call, l.runs = true, *call, runs
}

// Begin attaches to a thread and asks it to stop; it does not wait. The look is
// pending until [Controller.WaitAny] or [Controller.Poll] says that the thread has
// stopped. Errors: [ErrGone], [ErrDenied], [ErrTraced], [ErrZombie],
// [ErrKernelThread], [ErrSelf], [ErrBusy], [ErrPending] (with that look), or an
// error number that the kernel gave. An abandoned look at the same thread is
// taken up again.
func (c *Controller) Begin(tid int) (*Look, error) { return c.BeginWith(tid, nil) }

// BeginWith is Begin, and reads the clocks of the thread, whose files these are, between the attachment and the
// interrupt ([Look.Before]). Whoever wants to know whether it was on a processor when it was interrupted must not have
// asked earlier.
func (c *Controller) BeginWith(tid int, files *ThreadFiles) (*Look, error) {
	return c.begin(tid, files, nil)
}

// BeginSince is BeginWith with clocks that were read a few microseconds ago. A thread that has arrived on a processor
// since then seems to have been queued when it was interrupted.
func (c *Controller) BeginSince(tid int, before *SchedStat) (*Look, error) {
	return c.begin(tid, nil, before)
}

// begin begins a look with the clocks that are given, or read, or none.
func (c *Controller) begin(tid int, files *ThreadFiles, before *SchedStat) (*Look, error) {
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
	*l = Look{tid: tid, index: l.index, state: lookPending}
	switch {
	case before != nil:
		l.before, l.beforeOK = *before, true
	case files != nil:
		sched, err := files.SchedStat()
		l.before, l.beforeOK = sched, err == nil
	}
	l.interruptNS = procmem.Now()
	c.rescue.tids[l.index].Store(int32(tid))
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
// thread's processor: waits do not spin for it. Where they sleep in between, the next one is as short
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
			l.index = i
			return l
		}
	}
	return nil
}

// free gives a look back.
func (c *Controller) free(l *Look) {
	c.rescue.tids[l.index].Store(0)
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

// Freeze is one look from begin to end: it waits for the thread until the
// deadline (on the clock of [Now]) and gives it up then ([ErrTimeout]). Other
// pending looks wait meanwhile. Errors: those of Begin and Finish.
func (c *Controller) Freeze(tid int, deadline int64, req *Request, out *Stop) error {
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

// decode turns what was read into its final form, after the thread was let go.
func (c *Controller) decode(_ *Look, req *Request, out *Stop) {
	l := &c.last
	c.decodeRegs(out)
	out.StackAddr, out.StackLen, out.StackAsked = c.stackAt, c.stackN, c.stackAsked
	out.Interrupt, out.Running, out.Stop, out.Detach = l.interruptNS, l.runningNS, l.stopNS, l.detachNS
	out.Deep, out.StackEnd = c.deep, c.end
	out.TailAddr, out.TailLen = c.tailAt, c.tailN
	if out.Short = c.allowed.short; out.Short { // what lacks is no end of a mapping
		out.StackAsked = out.StackLen
	}
	out.Taken, out.Copied = l.takenNS, l.copiedNS
	out.Calls = int(l.copiedCalls - l.takenCalls)
	out.Kind, out.Signal = l.kind, int(l.signal)
	out.Restarted, out.Broken, out.GaveUp, out.Told = l.restarted, l.broken, l.gaveUp, l.told
	out.InSyscall, out.Nr = rawSyscall(&c.raw)
	c.decodeSched(req, out)
}

// decodeRegs turns the registers into their final form.
func (c *Controller) decodeRegs(out *Stop) {
	out.Regs = decodeNative(&c.raw)
	if c.tls != 0 {
		out.Regs.TLS = c.tls
	}
	out.Regs.PACMask = c.pacMask
}

// decodeSched takes the clocks from what was read in the stop, or reads them now.
func (c *Controller) decodeSched(req *Request, out *Stop) {
	out.Sched, out.SchedOK = SchedStat{}, false
	if req.Files == nil {
		return
	}
	var err error
	if c.schedN > 0 {
		out.Sched, err = procmem.ParseSchedStat(c.schedBuf[:c.schedN])
	} else {
		out.Sched, err = req.Files.SchedStat()
	}
	out.SchedOK = err == nil
}
