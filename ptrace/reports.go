// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"

	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

const (
	eventStop = 128 // PTRACE_EVENT_STOP

	// si_code of a wait (include/uapi/asm-generic/siginfo.h).
	cldExited  = 1
	cldDumped  = 3
	cldTrapped = 4
)

// waitReport is what a wait says of a thread.
type waitReport uint8

const (
	reportStop waitReport = iota // it has stopped
	reportExit                   // it has exited, and is to be reaped
	// reportNone: it is no tracee any more. It ended and somebody else has waited for it; or it called exec and goes
	// by another number now, under which it will stop.
	reportNone
	numReports
)

// standing is what the controller has to do with a thread.
type standing uint8

const (
	standOther   standing = iota // its look needs nothing more
	standPending                 // a look waits for it to stop
	standGivenUp                 // a look that was abandoned does
	standHeld                    // a look holds it stopped
	standUnknown                 // nobody looks at it
	numStandings
)

// standingOf gives that of a look's thread; nil is no look.
func standingOf(l *Look) standing {
	switch {
	case l == nil:
		return standUnknown
	case l.state == lookPending && l.abandoned:
		return standGivenUp
	case l.state == lookPending:
		return standPending
	case l.state == lookStopped:
		return standHeld
	}
	return standOther
}

// actions are what is done at a report, a bit each, in this order.
type actions uint16

const (
	doSeek    actions = 1 << iota // its stop under another number is to be looked for
	doReap                        // its life is ended
	doReapOwn                     // the same, if this thread traces it
	doConsume                     // the report is consumed, so that it does not hide the others
	doHold                        // its look has a stop
	doEnd                         // its look has an end
	doLetGo                       // it is let go
	doFree                        // its look is free for another thread
	doTell                        // the caller gets the look
)

// transitions say what is done at each report.
var transitions = [numStandings][numReports]actions{
	standPending: {reportStop: doHold | doTell, reportExit: doReap | doEnd | doTell, reportNone: doSeek | doEnd | doTell},
	standGivenUp: {reportStop: doHold | doLetGo, reportExit: doReap | doFree, reportNone: doSeek | doFree},
	standHeld:    {reportStop: doConsume, reportExit: doConsume},
	// A tracee that nobody looks at has changed its number by calling exec. Others are children of this thread, and
	// somebody else's to wait for.
	standUnknown: {reportStop: doLetGo, reportExit: doReapOwn},
}

// heed does what is to be done at the report in c.info, and gives the look if the caller is to know.
func (c *Controller) heed(l *Look, tid int) *Look {
	switch code := c.info.code; {
	case code == cldTrapped:
		return c.transit(l, tid, reportStop, c.info.status)
	case code >= cldExited && code <= cldDumped:
		return c.transit(l, tid, reportExit, 0)
	}
	return nil
}

// transit does what transitions say; status is that of the stop.
func (c *Controller) transit(l *Look, tid int, r waitReport, status int32) *Look {
	do := transitions[standingOf(l)][r]
	c.lost = c.lost || do&doSeek != 0
	if do&doReap != 0 || do&doReapOwn != 0 && c.traces(tid) {
		c.reap(tid)
	}
	if do&doConsume != 0 {
		c.consume(tid)
	}
	if do&doHold != 0 {
		l.stop(status)
		l.stopNS = procmem.Now()
		l.runningNS = max(l.interruptNS, c.idle)
	}
	if do&doEnd != 0 {
		l.state = lookGone
	}
	switch {
	case do&doLetGo != 0 && l == nil:
		c.releaseUnknown(tid, status)
	case do&doLetGo != 0:
		c.letGo(l)
	case do&doFree != 0:
		c.free(l)
	}
	if do&doTell == 0 {
		return nil
	}
	return l
}

// releaseUnknown lets a stopped tracee go that nobody looks at.
func (c *Controller) releaseUnknown(tid int, status int32) {
	l := Look{tid: tid, stopNS: procmem.Now()}
	l.stop(status)
	_ = c.release(&l) // fails if it was killed: then nothing holds it
}

// traces reports whether a thread is this thread's tracee.
func (c *Controller) traces(tid int) bool {
	var st procmem.Status
	return procmem.ReadStatus(tid, &st) == nil && st.TracerPid == c.tid
}

// stop takes over the kind of stop from a wait's status: signal, and event above.
func (l *Look) stop(status int32) {
	l.state, l.signal = lookStopped, 0
	switch sig := status & 0xff; {
	case status>>8 != eventStop:
		l.kind, l.signal = KindSignal, sig
	case sig == int32(unix.SIGTRAP):
		l.kind = KindInterrupt
	default:
		l.kind = KindGroup
	}
}

// stolenStatus is the status of a wait as siginfo has it: si_code of an event
// stop is that status itself (kernel/signal.c, ptrace_do_notify).
func stolenStatus(info *sigInfo) int32 {
	if info.code>>8 == eventStop {
		return info.code
	}
	return info.signo
}

// reap ends the life of a traced thread that has exited; until then its process's
// exit is not reported to its parent. But the exit of a process whose parent is
// this very process is left to whoever waits for it here: reaping would take it.
func (c *Controller) reap(tid int) {
	var st procmem.Status
	if procmem.ReadStatus(tid, &st) == nil && st.Tgid == tid && st.PPid == os.Getpid() {
		return
	}
	var info sigInfo
	_ = waitid(unix.P_PID, tid, unix.WEXITED|unix.WALL|unix.WNOTHREAD, &info)
}

// consume takes the report of a stop that the caller knows of and holds on to, so
// that it does not hide the others.
func (c *Controller) consume(tid int) {
	var info sigInfo
	_ = waitid(unix.P_PID, tid, unix.WSTOPPED|unix.WALL|unix.WNOTHREAD, &info)
}
