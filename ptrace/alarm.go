// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"sync/atomic"
	"syscall"

	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

// alarm ends the sleeps of the tracer's thread: a timer of the kernel that sends that thread a signal
// (timer_create(2), SIGEV_THREAD_ID). With it the thread can sleep in a wait for stops, which the kernel ends when
// a thread stops. It needs no short sleeps, each of which programs the processor's timer (some microseconds in a
// virtual machine) and is too long or too short. The same timer ends the sleep until the next tick. It is set once
// a tick, and not between a thread's interrupt and its stop, which takes no longer than that.
//
// The signal is blocked but for the time of such a wait. It can come between the last look at the clock and the
// beginning of the wait, which then does not end by it. A goroutine that looks now and then sends it once more
// ([rescue]).
type alarm struct {
	ok  bool // there is one
	id  int32
	tid int
	at  int64     // when it rings, on the clock of [Now]; 0: it is not set
	was signalSet // what the thread blocked before
	// until is the end of the sleep that is under way, 0 if none is.
	until atomic.Int64
}

// alarmSignal is the signal of the timer: one of the real-time signals, which nobody sends by
// mistake. The Go runtime has a handler for it that does nothing.
const alarmSignal = syscall.Signal(63)

// saRestart is SA_RESTART (include/uapi/asm-generic/signal-defs.h): with it a wait goes on after the handler.
const saRestart = 0x10000000

// overslept is by how much a sleep may last longer before it is ended in the other way, in nanoseconds.
const overslept = 10e6

// open makes it for the calling thread, and lets that thread block the runtime's requests to make room for another
// goroutine, which would end its sleeps. It belongs to the tracer alone.
func (a *alarm) open(tid int) {
	sa, e := actionOf(alarmSignal)
	if e != 0 || sa.handler <= 1 { // SIG_DFL would kill, SIG_IGN would not wake
		return
	}
	sa.flags &^= saRestart
	if setAction(alarmSignal, &sa) != 0 {
		return
	}
	id, e := timerCreate(alarmSignal, tid)
	if e != 0 {
		return
	}
	was, e := maskSignals(unix.SIG_BLOCK, setOf(alarmSignal, unix.SIGURG))
	if e != 0 {
		timerDelete(id)
		return
	}
	a.ok, a.id, a.tid, a.was = true, id, tid, was
}

// close undoes open.
func (a *alarm) close() {
	if !a.ok {
		return
	}
	a.ok = false
	timerDelete(a.id)
	_, _ = maskSignals(unix.SIG_SETMASK, a.was)
}

// set makes it ring at a moment; false if that is not possible.
func (a *alarm) set(at int64) bool {
	if !a.ok {
		return false
	}
	if a.at != at {
		if a.at = 0; timerSet(a.id, at) != 0 {
			return false
		}
		a.at = at
	}
	return true
}

// sleep sleeps until a moment, or until a signal comes; false if that is not possible.
func (a *alarm) sleep(until int64) bool {
	if !a.set(until) {
		return false
	}
	a.until.Store(until)
	e := awaitSignal(setOf(alarmSignal))
	a.until.Store(0)
	a.at = 0
	return e == 0 || e == unix.EINTR || e == unix.EAGAIN
}

// wait waits in the kernel until there is a stop to report, or until a moment. ok is false if that is not possible, and
// slept if the moment had passed already. info tells what was reported.
func (a *alarm) wait(until int64, info *sigInfo) (e syscall.Errno, slept, ok bool) {
	if !a.set(until) {
		return 0, false, false
	}
	a.until.Store(until)
	_, _ = maskSignals(unix.SIG_UNBLOCK, setOf(alarmSignal))
	if e, slept = unix.EINTR, procmem.Now() < until; slept {
		e = waitidBlocking(unix.P_ALL, 0, watch, info)
	}
	_, _ = maskSignals(unix.SIG_BLOCK, setOf(alarmSignal))
	a.until.Store(0)
	if e == unix.EINTR {
		a.at = 0
	}
	return e, slept, true
}

// ringAgain ends a sleep that lasts longer than it should. Any goroutine may call it.
func (a *alarm) ringAgain(now int64) {
	if until := a.until.Load(); until != 0 && now-until > overslept {
		_ = unix.Tgkill(unix.Getpid(), a.tid, alarmSignal) // if it has ended nobody sleeps
	}
}
