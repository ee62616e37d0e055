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

	"prywalk/internal/host/procmem"
)

// # Ctrl-Z
//
// A stopped tracer would hold its tracees. So at a caught stop signal all controllers first detach ([Suspending]), then
// the default action is taken ([Suspend]).

type controllerSet struct {
	suspending atomic.Bool
	mu         sync.Mutex
	changed    *sync.Cond
	// open has true for an open controller, false for a closed one with tracees left until the OS thread ends.
	open map[*Controller]bool
}

var controllers = newControllerSet()

func newControllerSet() *controllerSet {
	r := &controllerSet{open: map[*Controller]bool{}}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// Suspending reports whether this process is about to stop. The owner of a controller then calls
// [Controller.AcknowledgeSuspend], begins no stop, and closes it soon. If [Controller.Close] returns more than 0, the
// OS thread must end.
func Suspending() bool { return controllers.suspending.Load() }

// AcknowledgeSuspend acknowledges [Suspending]: WaitAny waits again.
func (c *Controller) AcknowledgeSuspend() { c.suspendAcknowledged = true }

func (r *controllerSet) add(c *Controller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.suspending.Load() {
		r.changed.Wait()
	}
	r.open[c] = true
}

func (r *controllerSet) remove(c *Controller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.open[c]; !ok {
		return
	}
	if c.Attached() > 0 {
		r.open[c] = false
		return
	}
	delete(r.open, c)
}

// allDetached reports whether no controller has a tracee: a thread detaches before its id is gone (kernel/exit.c,
// do_exit).
func (r *controllerSet) allDetached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, open := range r.open {
		if open || unix.Tgkill(os.Getpid(), c.tid, 0) == nil {
			return false
		}
		delete(r.open, c)
	}
	return true
}

// detachAll waits while goOn returns true, and returns whether all controllers have detached.
func detachAll(goOn func() bool) bool {
	controllers.suspending.Store(true)
	for !controllers.allDetached() {
		if !goOn() {
			return false
		}
		time.Sleep(detachPoll)
	}
	return true
}

// DetachAll makes all controllers detach and no other open, before this process ends. It waits while goOn returns true,
// [detachTimeout] at most.
func DetachAll(goOn func() bool) {
	end := time.Now().Add(detachTimeout)
	detachAll(func() bool { return goOn() && time.Now().Before(end) })
}

func allowControllers() {
	controllers.mu.Lock()
	defer controllers.mu.Unlock()
	controllers.suspending.Store(false)
	controllers.changed.Broadcast()
}

const (
	detachPoll    = time.Millisecond
	detachTimeout = 10 * time.Second // bounds detachAll; stops of all threads at once may take some seconds
)

// Suspend takes the default action of a caught stop signal after all threads are detached. It returns when this process
// continues. The parent sees that signal; an earlier SIGCONT cancels it; an orphaned process group is not stopped.
// settled is called just before the stop, when stop signals are no longer caught. False means that a thread was not
// detached in time, or the signal could not be sent.
func Suspend(sig syscall.Signal, settled func()) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer allowControllers()
	was, e := maskSignals(unix.SIG_BLOCK, procmem.SetOf(sig))
	if e != 0 {
		return false
	}
	defer func() { _, _ = maskSignals(unix.SIG_SETMASK, was) }()
	// SIGCONT discards a pending stop signal (kernel/signal.c, prepare_signal)
	if unix.Tgkill(os.Getpid(), unix.Gettid(), sig) != nil {
		return false
	}
	end := time.Now().Add(detachTimeout)
	all := detachAll(func() bool { return isPending(sig) && time.Now().Before(end) })
	switch {
	case !isPending(sig):
		return true
	case !all:
		// The kernel discards a pending signal that is ignored (kernel/signal.c, do_sigaction).
		if was, e := actionOf(sig); e == 0 {
			ignore := was
			ignore.Handler = procmem.SigIgn
			_ = setAction(sig, &ignore)
			_ = setAction(sig, &was)
		}
		return false
	}
	defer restoreActions(defaultActions())
	settled()
	_, _ = maskSignals(unix.SIG_SETMASK, was) // the process stops here
	return true
}

// StopSignals are the stop signals of a terminal.
var StopSignals = [...]syscall.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU}

func defaultActions() (was [len(StopSignals)]procmem.SigAction) {
	for i, sig := range StopSignals {
		sa, e := actionOf(sig)
		if e != 0 || sa.Handler <= procmem.SigIgn {
			continue
		}
		was[i] = sa
		sa.Handler = 0
		_ = setAction(sig, &sa)
	}
	return was
}

func restoreActions(was [len(StopSignals)]procmem.SigAction) {
	for i, sig := range StopSignals {
		if was[i].Handler != 0 {
			_ = setAction(sig, &was[i])
		}
	}
}
