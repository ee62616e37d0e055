// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/fdlimit"
	"prywalk/internal/host/procmem"
)

// # Inheritance
//
// A command inherits by fork(2) and execve(2). These are set apart:
//   - ignored and blocked signals, which the Go runtime changed ([startSignals]);
//   - the soft limit of open files, which the Go runtime raised (package fdlimit);
//   - the timer slack, which [RelaxTimers] raised;
//   - the environment, of which package os drops duplicate entries;
//   - PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER, which fork(2) does not pass on.
//
// PR_SET_PDEATHSIG's signal is sent when the forking thread ends, not the process (prctl(2)). So one thread, which
// lives as long as the process, does all forks.
//
// Until its exec the child runs no Go code but [heldChild.run]: a second Go runtime would make the same changes again,
// and needs threads that a limit may not allow.

type heldChild struct {
	// A byte on holdRead starts the exec; statusWrite takes the error number.
	holdRead, holdWrite, statusWrite int
	path                             *byte
	argv, envv                       []*byte
	ignored, blocked                 procmem.SignalSet
	deathSignal                      int
	subreaper                        int
	openFiles                        unix.Rlimit // zero: unchanged
}

// deathSignal is the first thread's, on which packages are initialised; other threads have none.
var deathSignal = processOption(unix.PR_GET_PDEATHSIG)

func (h *heldChild) prepare(path string, args []string) (err error) {
	if h.path, err = syscall.BytePtrFromString(path); err != nil {
		return err
	}
	if h.argv, err = syscall.SlicePtrFromStrings(args); err != nil {
		return err
	}
	if h.envv, err = syscall.SlicePtrFromStrings(environment()); err != nil {
		return err
	}
	if l, ok := fdlimit.AtStart(); ok {
		h.openFiles = unix.Rlimit{Cur: l.Soft, Max: l.Hard}
	}
	return nil
}

func environment() []string {
	text, err := os.ReadFile("/proc/self/environ")
	if err != nil || len(text) == 0 {
		return os.Environ()
	}
	var env []string
	for entry := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		env = append(env, string(entry))
	}
	return env
}

// forker runs functions on one thread (see Inheritance).
var forker = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // never unlocked
		_ = setSlack(callersSlack())
		for f := range work {
			f()
		}
	}()
	return work
})

func (h *heldChild) fork() (pid int, err error) {
	OnForker(func() { pid, err = h.forkHere() })
	return pid, err
}

// OnForker runs a function on the thread that does all forks, from which other programs inherit.
func OnForker(f func()) {
	done := make(chan struct{})
	forker() <- func() {
		defer close(done)
		f()
	}
	<-done
}

// Parent returns the thread that does all forks. It sleeps otherwise.
func Parent() (tid int) {
	OnForker(func() { tid = unix.Gettid() })
	return tid
}

func (h *heldChild) forkHere() (int, error) {
	s := startSignals()
	h.ignored, h.blocked = s.ignored, s.blocked
	if !s.exact {
		var now unix.Sigset_t
		_ = unix.PthreadSigmask(unix.SIG_BLOCK, nil, &now) // fails only for a bad argument
		h.blocked = procmem.SignalSet(now.Val[0])
	}
	h.deathSignal = deathSignal
	h.subreaper = processOption(unix.PR_GET_CHILD_SUBREAPER)
	syscall.ForkLock.Lock() // some descriptors do not have O_CLOEXEC yet
	pid, e := forkHeld(h)
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(h)
	if e == syscall.EAGAIN {
		return 0, fmt.Errorf("fork: %w: a limit of processes is reached (ulimit -u, pids.max of the control group)", e)
	}
	if e != 0 {
		return 0, fmt.Errorf("fork: %w", e)
	}
	return pid, nil
}

const (
	exitAbandoned   = 125 // the parent ended before the release
	exitNotExecuted = 126 // an error was sent to the parent
	lastSignal      = 64
)
