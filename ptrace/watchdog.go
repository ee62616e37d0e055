// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"prywalk/internal/host/procmem"

	"golang.org/x/sys/unix"
)

// # A tracer that does not sleep
//
// A real-time thread displaces ordinary ones until throttled after 0.95 s (sched(7), sched_rt_runtime_us). The
// watchdog, one priority higher, makes a tracer ordinary after maxRunWithoutSleep of CPU time without a voluntary
// switch. A SleepUntil raises it again, minOrdinaryTime later at the earliest.

const (
	maxRunWithoutSleep = 20 * time.Millisecond // CPU time
	watchdogPeriod     = 20 * time.Millisecond // time between checks
	suspectAfter       = 5 * time.Millisecond  // CPU time, after which sleeps are read
	minOrdinaryTime    = time.Second           // least time at ordinary priority
)

type watchdog struct {
	tid      int
	priority uint32
	ordinary unix.SchedAttr
	files    *procmem.ThreadFiles
	cpu      time.Duration // at the last known sleep
	sleeps   uint64        // voluntary context switches then
	lowered  atomic.Int64  // on the clock of Now; 0 means real-time
	count    atomic.Int64
	end      atomic.Bool
	done     chan struct{} // closed after the last check
}

func newWatchdog(tid int, priority uint32, was *unix.SchedAttr) *watchdog {
	w := &watchdog{tid: tid, priority: priority, ordinary: *was, done: make(chan struct{})}
	w.ordinary.Size = unix.SizeofSchedAttr
	w.ordinary.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
	w.files = procmem.OpenThread(os.Getpid(), tid, procmem.NewFDBudget(0))
	return w
}

func (w *watchdog) run() {
	runtime.LockOSThread() // the thread ends with its priority
	defer close(w.done)
	defer w.files.Close()
	a := realTime(w.priority + 1)
	_ = unix.SchedSetAttr(0, &a, 0)
	defer func() { _ = unix.SchedSetAttr(0, &w.ordinary, 0) }() // the process's first thread does not end
	every := unix.NsecToTimespec(int64(watchdogPeriod))
	for !w.end.Load() {
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &every, nil) // a signal ends it early
		w.check(Now())
	}
}

func (w *watchdog) check(now Moment) {
	sched, err := w.files.SchedStat()
	if err != nil || w.lowered.Load() != 0 || time.Duration(sched.CPU)-w.cpu < suspectAfter {
		return
	}
	var s procmem.Status
	if w.files.Status(&s) != nil {
		return
	}
	if s.Sleeps != w.sleeps {
		w.cpu, w.sleeps = time.Duration(sched.CPU), s.Sleeps
		return
	}
	if time.Duration(sched.CPU)-w.cpu >= maxRunWithoutSleep && unix.SchedSetAttr(w.tid, &w.ordinary, 0) == nil {
		w.lowered.Store(int64(now))
		w.count.Add(1)
	}
}

func (w *watchdog) hasLowered() bool { return w != nil && w.lowered.Load() != 0 }

func (w *watchdog) raiseAgain(now Moment) {
	if w == nil {
		return
	}
	lowered := Moment(w.lowered.Load())
	if lowered == 0 || now.Sub(lowered) < minOrdinaryTime {
		return
	}
	a := realTime(w.priority)
	_ = unix.SchedSetAttr(0, &a, 0)
	w.lowered.Store(0)
}

func (w *watchdog) close() {
	if w != nil {
		w.end.Store(true)
	}
}

const fifoPriority = 5

type priority struct {
	name      string
	restoreTo *unix.SchedAttr // nil means unchanged
}

// raise tries SCHED_FIFO, then a better nice value (sched(7)).
func (p *priority) raise(tid int, watched bool) *watchdog {
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return nil
	}
	// default: 50 µs (prctl(2))
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	switch was.Policy {
	case unix.SCHED_NORMAL:
	case unix.SCHED_FIFO, unix.SCHED_RR:
		p.name = "fifo"
		return nil
	default:
		return nil
	}
	if was.Nice < 0 {
		p.name = "nice"
	}
	for _, prio := range []uint32{fifoPriority, 1} {
		fifo := realTime(prio)
		if unix.SchedSetAttr(0, &fifo, 0) == nil {
			p.name, p.restoreTo = "fifo", was
			if !watched {
				return nil
			}
			w := newWatchdog(tid, prio, was)
			go w.run()
			return w
		}
	}
	for _, nice := range []int32{-20, bestNice()} {
		a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL,
			Flags: unix.SCHED_FLAG_RESET_ON_FORK, Nice: nice}
		if nice < min(was.Nice, 0) && unix.SchedSetAttr(0, &a, 0) == nil {
			p.name, p.restoreTo = "nice", was
			return nil
		}
	}
	return nil
}

func realTime(priority uint32) unix.SchedAttr {
	return unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
		Priority: priority}
}

// 20 − RLIMIT_NICE (setrlimit(2))
func bestNice() int32 {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &lim) != nil {
		return 20
	}
	return 20 - int32(min(lim.Cur, 40))
}

func (p *priority) restore() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0 sets the default
	if p.restoreTo == nil {
		return
	}
	p.restoreTo.Size = unix.SizeofSchedAttr
	if unix.SchedSetAttr(0, p.restoreTo, 0) != nil {
		// clearing reset-on-fork needs CAP_SYS_NICE
		p.restoreTo.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
		_ = unix.SchedSetAttr(0, p.restoreTo, 0)
	}
	p.restoreTo = nil
	p.name = "normal"
}
