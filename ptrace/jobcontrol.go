// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// # Ctrl-Z
//
// A tracer that is stopped lets nobody go: a thread that was interrupted, or is just being looked at, would stand
// still until the tracer goes on. So a stop signal that can be caught (SIGTSTP, SIGTTIN, SIGTTOU) is obeyed in two
// steps. First all controllers of this process are asked to let go of everyone ([Leaving]). Only
// then is the signal's own action taken ([StopAs]). Controllers that are made meanwhile wait.

// tracers are the controllers of this process.
var tracers struct {
	leaving atomic.Bool // all are to let go
	mu      sync.Mutex
	changed *sync.Cond // leaving has ended
	// open are those that are not closed; false for those that are, but whose OS
	// thread still holds somebody who has not stopped. That ends with the thread.
	open map[*Controller]bool
}

func init() {
	tracers.changed = sync.NewCond(&tracers.mu)
	tracers.open = map[*Controller]bool{}
}

// Leaving reports whether this process is about to be stopped. Whoever has a controller then begins no more looks,
// calls [Controller.Leave], and closes it soon; its OS thread must end if [Controller.Close] gives more than 0. The
// next controller can be made at once: that waits until the process goes on. Waits for threads
// (WaitAny) end early when it becomes true.
func Leaving() bool { return tracers.leaving.Load() }

// Leave tells that the caller knows of [Leaving]: waits last as usual again, so that looks under way can be finished.
func (c *Controller) Leave() { c.leaves = true }

// asked reports whether the caller is still to be told of Leaving.
func (c *Controller) asked() bool { return !c.leaves && Leaving() }

// enter adds a controller, when no stop is under way.
func (c *Controller) enter() {
	tracers.mu.Lock()
	defer tracers.mu.Unlock()
	for tracers.leaving.Load() {
		tracers.changed.Wait()
	}
	tracers.open[c] = true
}

// left takes a closed controller out, unless its thread still holds somebody.
func (c *Controller) left() {
	tracers.mu.Lock()
	defer tracers.mu.Unlock()
	if _, ok := tracers.open[c]; !ok {
		return
	}
	if c.live > 0 || c.lost {
		tracers.open[c] = false
		return
	}
	delete(tracers.open, c)
}

// allLeft reports whether no thread of this process holds anybody. The end of a
// thread lets go of its tracees before its number is gone (kernel/exit.c, do_exit: exit_notify, then release_task).
func allLeft() bool {
	tracers.mu.Lock()
	defer tracers.mu.Unlock()
	for c, open := range tracers.open {
		if open || unix.Tgkill(os.Getpid(), c.tid, 0) == nil {
			return false
		}
		delete(tracers.open, c)
	}
	return true
}

// letGo asks all controllers to let go, and waits until they have, as long as go on says so.
func letGo(goOn func() bool) bool {
	tracers.leaving.Store(true)
	for !allLeft() {
		if !goOn() {
			return false
		}
		time.Sleep(letGoStep)
	}
	return true
}

// stay ends what letGo began.
func stay() {
	tracers.mu.Lock()
	defer tracers.mu.Unlock()
	tracers.leaving.Store(false)
	tracers.changed.Broadcast()
}

const (
	letGoStep = time.Millisecond
	sigIgn    = 1 // SIG_IGN; SIG_DFL is 0 (include/uapi/asm-generic/signal-defs.h)
	// letGoFor bounds the wait for the controllers. Half a second is enough for looks under way, some seconds for
	// a look at all threads together.
	letGoFor = 10 * time.Second
)

// Ignored reports whether a signal is ignored, as this process was started. Package os/signal does not know it
// of stop signals.
func Ignored(sig syscall.Signal) bool {
	sa, e := actionOf(sig)
	return e == 0 && sa.handler == sigIgn
}

// StopAs does what a stop signal that was caught would have done, when nobody is held any more. This process is
// stopped, its parent sees that signal, and StopAs returns when it goes on. As with the signal itself, a SIGCONT
// that comes first takes it back, and nothing happens in an orphaned process group. settled is called just before
// it is stopped, when further stop signals are not caught any more. It gives false if it did not stop because
// somebody could not be let go of in time.
func StopAs(sig syscall.Signal, settled func()) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer stay()
	was, e := maskSignals(unix.SIG_BLOCK, setOf(sig))
	if e != 0 {
		return false
	}
	defer func() { _, _ = maskSignals(unix.SIG_SETMASK, was) }()
	// From now on it is pending, and the kernel drops it at a SIGCONT (kernel/signal.c, prepare_signal).
	if unix.Tgkill(os.Getpid(), unix.Gettid(), sig) != nil {
		return false
	}
	end := time.Now().Add(letGoFor)
	all := letGo(func() bool { return isPending(sig) && time.Now().Before(end) })
	switch {
	case !isPending(sig):
		return true // it was taken back
	case !all:
		drop(sig)
		return false
	}
	defer restoreActions(defaultActions())
	settled()
	_, _ = maskSignals(unix.SIG_SETMASK, was) // here it stops
	return true
}

// drop takes a pending signal back: the kernel does so when it is ignored (kernel/signal.c, do_sigaction).
func drop(sig syscall.Signal) {
	if was, e := actionOf(sig); e == 0 {
		ignore := was
		ignore.handler = sigIgn
		_ = setAction(sig, &ignore)
		_ = setAction(sig, &was)
	}
}

// StopSignals are those that a terminal sends to stop a process.
var StopSignals = [...]syscall.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU}

// defaultActions gives the stop signals that are caught their default action, and what they had.
func defaultActions() (was [len(StopSignals)]sigAction) {
	for i, sig := range StopSignals {
		sa, e := actionOf(sig)
		if e != 0 || sa.handler <= sigIgn {
			continue
		}
		was[i] = sa
		sa.handler = 0
		_ = setAction(sig, &sa) // of a signal that there is
	}
	return was
}

// restoreActions undoes defaultActions.
func restoreActions(was [len(StopSignals)]sigAction) {
	for i, sig := range StopSignals {
		if was[i].handler != 0 {
			_ = setAction(sig, &was[i])
		}
	}
}
