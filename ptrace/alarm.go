// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"prywalk/internal/host/procmem"

	"golang.org/x/sys/unix"
)

// alarm ends sleeps of the tracer's thread by a timer (timer_create(2), SIGEV_THREAD_ID). Its signal is blocked except
// in waits for stops; one just before a wait is lost, and [rescuer] repeats it.
type alarm struct {
	created   bool
	timer     procmem.Timer
	tid       int
	expiresAt Moment // 0 means not set
	oldMask   procmem.SignalSet
	until     atomic.Int64
}

// The Go runtime's handler ignores it.
const alarmSignal = syscall.Signal(63)

const saRestart = 0x10000000

// open also blocks SIGURG, the Go runtime's pre-emption signal, which would end sleeps.
func (a *alarm) open(tid int) {
	sa, e := actionOf(alarmSignal)
	if e != 0 || sa.Handler <= procmem.SigIgn { // SIG_DFL would kill, SIG_IGN would not wake
		return
	}
	sa.Flags &^= saRestart
	if setAction(alarmSignal, &sa) != 0 {
		return
	}
	timer, e := procmem.NewTimer(unix.CLOCK_MONOTONIC, alarmSignal, tid)
	if e != 0 {
		return
	}
	was, e := maskSignals(unix.SIG_BLOCK, procmem.SetOf(alarmSignal, unix.SIGURG))
	if e != 0 {
		timer.Delete()
		return
	}
	a.created, a.timer, a.tid, a.oldMask = true, timer, tid, was
}

func (a *alarm) close() {
	if !a.created {
		return
	}
	a.created = false
	a.timer.Delete()
	_, _ = maskSignals(unix.SIG_SETMASK, a.oldMask)
}

// set sets the timer to a time on the clock of [Now]. Without a timer, set, sleep and wait return false.
func (a *alarm) set(expiresAt Moment) bool {
	if !a.created {
		return false
	}
	if a.expiresAt != expiresAt {
		if a.expiresAt = 0; a.timer.SetAt(int64(expiresAt)) != 0 {
			return false
		}
		a.expiresAt = expiresAt
	}
	return true
}

// sleep sleeps until a time or a signal; false without a timer.
func (a *alarm) sleep(until Moment) bool {
	if !a.set(until) {
		return false
	}
	a.until.Store(int64(until))
	e := awaitSignal(procmem.SetOf(alarmSignal))
	a.until.Store(0)
	a.expiresAt = 0
	return e == 0 || e == unix.EINTR || e == unix.EAGAIN
}

// wait blocks until a stop is reported in info, or the time until comes (EINTR). slept is false if that time had
// passed; ok is false without a timer.
func (a *alarm) wait(until Moment, info *sigInfo) (e syscall.Errno, slept, ok bool) {
	if !a.set(until) {
		return 0, false, false
	}
	a.until.Store(int64(until))
	_, _ = maskSignals(unix.SIG_UNBLOCK, procmem.SetOf(alarmSignal))
	if e, slept = unix.EINTR, Now() < until; slept {
		e = waitidBlocking(unix.P_ALL, 0, waitFlags, info)
	}
	_, _ = maskSignals(unix.SIG_BLOCK, procmem.SetOf(alarmSignal))
	a.until.Store(0)
	if e == unix.EINTR {
		a.expiresAt = 0
	}
	return e, slept, true
}

// endIfOverdue ends a sleep that the timer should have ended. Safe for concurrent use.
func (a *alarm) endIfOverdue(now Moment) {
	if until := Moment(a.until.Load()); until != 0 && now.Sub(until) > overdueAfter {
		_ = unix.Tgkill(unix.Getpid(), a.tid, alarmSignal)
	}
}

// rescuer reaps threads for which a seizure waits, and ends overdue sleeps, on its own OS thread.
type rescuer struct {
	seizeBegan atomic.Int64   // on the clock of Now; 0 means no seizure
	tids       []atomic.Int32 // of attachments, by index
	end        chan struct{}
	once       sync.Once
}

const (
	reapEvery         = 50 * time.Millisecond
	seizeBlockedAfter = 5 * time.Millisecond // usual: 2 µs
	overdueAfter      = 10 * time.Millisecond
)

func (r *rescuer) run(a *alarm) {
	ticker := time.NewTicker(reapEvery)
	defer ticker.Stop()
	for {
		select {
		case <-r.end:
			return
		case <-ticker.C:
		}
		now, began := Now(), Moment(r.seizeBegan.Load())
		if began != 0 && now.Sub(began) > seizeBlockedAfter {
			r.reap()
		}
		a.endIfOverdue(now)
	}
}

// reap omits first threads: exec waits only for their exit, and their status may belong to another wait.
func (r *rescuer) reap() {
	for i := range r.tids {
		tid := int(r.tids[i].Load())
		if tid == 0 {
			continue
		}
		var st procmem.Status
		if procmem.ReadStatus(tid, &st) != nil || st.Tgid == tid {
			continue
		}
		var info sigInfo
		_ = waitid(unix.P_PID, tid, unix.WEXITED|unix.WALL, &info) // fails if another wait took it
	}
}
