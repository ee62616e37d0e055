// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/openfiles"
)

// # What a launched command inherits
//
// A command inherits what it would inherit without prywalk. fork(2) and execve(2) see to that, but for what the Go
// runtime and prywalk have changed in this process:
//
//   - ignored signals and the set of blocked signals: [startSignals] has them as they were;
//   - the soft limit of open files: package openfiles;
//   - the environment: package os drops entries that are there twice;
//   - PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER, which fork(2) does not pass on.
//
// With PR_SET_PDEATHSIG the kernel sends the signal when the thread ends that has forked the child, not the process
// (prctl(2)). So all forks are done by one thread, which ends with the process. It has no raised priority, and all
// its attributes are those of the process's first thread.
//
// The child is a fork of this process and runs no Go code but [heldChild.run] until its exec: a second Go runtime
// would change the same things once more, and needs threads that a limit may not allow.

// heldChild is what the child needs between fork and exec. All of it is prepared before the fork.
type heldChild struct {
	hold, let, status int // one byte on hold has it execute; let is the other end; status takes the error number
	path, dir         *byte
	argv, envv        []*byte
	stdio             [3]int // −1: as they are
	ignored, blocked  signalSet
	deathSignal       int
	subreaper         int
	openFiles         unix.Rlimit // zero: as it is
}

// deathSignal is PR_GET_PDEATHSIG of the process's first thread, which packages are initialised on. Other threads have
// none of their own.
var deathSignal = processOption(unix.PR_GET_PDEATHSIG)

// prepare fills in everything but the pipes.
func (h *heldChild) prepare(cmd Command, path string) (err error) {
	if h.path, err = syscall.BytePtrFromString(path); err != nil {
		return err
	}
	if cmd.Dir != "" {
		if h.dir, err = syscall.BytePtrFromString(cmd.Dir); err != nil {
			return err
		}
	}
	if h.argv, err = syscall.SlicePtrFromStrings(cmd.Args); err != nil {
		return err
	}
	env := cmd.Env
	if env == nil {
		env = environment()
	}
	if h.envv, err = syscall.SlicePtrFromStrings(env); err != nil {
		return err
	}
	for i, f := range []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		h.stdio[i] = -1
		if f != nil {
			h.stdio[i] = int(f.Fd())
		}
	}
	if l, ok := openfiles.AtStart(); ok {
		h.openFiles = unix.Rlimit{Cur: l.Soft, Max: l.Hard}
	}
	return nil
}

// environment gives the environment that this process was started with: package os drops entries that come twice.
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

// forker runs functions on one thread, which ends with the process.
var forker = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // for ever
		for f := range work {
			f()
		}
	}()
	return work
})

// fork starts the child.
func (h *heldChild) fork() (pid int, err error) {
	done := make(chan struct{})
	forker() <- func() {
		defer close(done)
		pid, err = h.forkHere()
	}
	<-done
	return pid, err
}

// forkHere forks the calling thread.
func (h *heldChild) forkHere() (int, error) {
	s := startSignals()
	h.ignored, h.blocked = s.ignored, s.blocked
	if !s.exact {
		h.blocked, _ = maskSignals(unix.SIG_BLOCK, 0)
	}
	h.deathSignal = deathSignal
	h.subreaper = processOption(unix.PR_GET_CHILD_SUBREAPER)
	for i, fd := range h.stdio {
		if fd < 0 || fd > unix.Stderr {
			continue
		}
		// One of the three for another: out of the way of the others.
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, unix.Stderr+1)
		if err != nil {
			return 0, err
		}
		defer unix.Close(high)
		h.stdio[i] = high
	}
	syscall.ForkLock.Lock() // descriptors that are being made without O_CLOEXEC
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
	// exitAbandoned is the child's exit status when its parent ended before the release.
	exitAbandoned = 125
	// exitNotExecuted is that of one whose exec failed.
	exitNotExecuted = 126
	lastSignal      = 64
)
