// SPDX-License-Identifier: Apache-2.0

// Package launch starts a command that waits before its exec until it is released, and that inherits what it would
// without prywalk.
//
// It is a fork of this process that runs no Go code. The signals that the Go runtime changed are read from the
// runtime's variables. A pidfd awaits the end: a wait in the kernel would consume stops of tracees.
package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// ExecError means that a command could not be started.
type ExecError struct {
	Path string
	Err  error
}

// Error has the reason and what to check.
func (e *ExecError) Error() string {
	why := e.Err.Error()
	switch {
	case errors.Is(e.Err, exec.ErrNotFound):
		why = "no such command in $PATH; check the name, or give its path"
	case errors.Is(e.Err, os.ErrNotExist):
		why += "; check the path"
	case errors.Is(e.Err, os.ErrPermission), errors.Is(e.Err, syscall.ENOEXEC):
		why += "; check that it is a program, and its mode"
	}
	path := e.Path
	if path == "" {
		path = `""`
	}
	return fmt.Sprintf("cannot run %s: %s", path, why)
}

// Unwrap returns the error of exec(2), or of the search in $PATH.
func (e *ExecError) Unwrap() error { return e.Err }

// ExitCode is a shell's: 127 if the program does not exist, else 126 (POSIX.1-2024, Shell, §2.8.2).
func (e *ExecError) ExitCode() int {
	if errors.Is(e.Err, exec.ErrNotFound) || errors.Is(e.Err, os.ErrNotExist) {
		return 127
	}
	return 126
}

// Launched is a child that waits for Release before its exec.
type Launched struct {
	// PID is the same before and after the exec.
	PID int

	path   string
	hold   *os.File // one byte releases the child, closing ends it
	status *os.File // an error number, or end of file at the exec
	pidfd  int      // −1 means none
	exited chan struct{}

	wait  sync.Once
	state unix.WaitStatus
	err   error

	mu   sync.Mutex // held to signal, and to wait in the kernel
	gone bool       // reaped: the pid may be reused
}

// Start starts a command that waits for Release, and ends if this process ends before. args are the program, looked up
// in PATH if it has no slash, and its arguments. Error: [*ExecError] if args is empty, or PATH has no such program.
func Start(args []string) (*Launched, error) {
	if len(args) == 0 {
		return nil, &ExecError{Err: syscall.EINVAL}
	}
	path, err := lookPath(args[0])
	if err != nil {
		return nil, &ExecError{Path: args[0], Err: err}
	}
	holdR, holdW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: pipe: %w", path, err)
	}
	defer holdR.Close()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		holdW.Close()
		return nil, fmt.Errorf("start %s: pipe: %w", path, err)
	}
	defer statusW.Close()
	l := &Launched{path: path, hold: holdW, status: statusR, pidfd: -1, exited: make(chan struct{})}
	h := &heldChild{holdRead: int(holdR.Fd()), holdWrite: int(holdW.Fd()), statusWrite: int(statusW.Fd())}
	if err = h.prepare(path, args); err == nil {
		l.PID, err = h.fork()
	}
	if err != nil {
		holdW.Close()
		statusR.Close()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	if fd, err := unix.PidfdOpen(l.PID, 0); err == nil {
		l.pidfd = fd
	}
	go func() {
		l.awaitExit()
		close(l.exited)
	}()
	return l, nil
}

// lookPath leaves a path with a slash to the exec.
func lookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil // PATH has the current directory, as for a shell
	}
	return path, err
}

// Release starts the exec and waits for it. Error: [*ExecError] if it failed; the process is gone then. If a signal
// ended the process before, Wait has its status.
func (l *Launched) Release() error {
	_, _ = l.hold.Write([]byte{1})
	l.hold.Close()
	var b [4]byte
	n, _ := io.ReadFull(l.status, b[:])
	l.status.Close()
	if n < len(b) {
		return nil
	}
	_, _ = l.Wait()
	return &ExecError{Path: l.path, Err: syscall.Errno(binary.LittleEndian.Uint32(b[:]))}
}

// Signal returns os.ErrProcessDone after the wait.
func (l *Launched) Signal(sig syscall.Signal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return os.ErrProcessDone
	}
	return syscall.Kill(l.PID, sig)
}

// Exited is closed when the command has exited.
func (l *Launched) Exited() <-chan struct{} { return l.exited }

// Wait returns the command's status at its end. Safe for concurrent use. It waits in the kernel only after the end, so
// threads may be traced.
func (l *Launched) Wait() (unix.WaitStatus, error) {
	l.wait.Do(l.reap)
	return l.state, l.err
}

func (l *Launched) reap() {
	<-l.exited
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	for {
		_, err := unix.Wait4(l.PID, &l.state, unix.WALL, nil)
		if err == unix.EINTR || err == nil && l.state.Stopped() {
			continue
		}
		if err != nil {
			l.err = fmt.Errorf("wait for %s (pid %d): %w", l.path, l.PID, err)
		}
		break
	}
	if l.pidfd >= 0 {
		unix.Close(l.pidfd)
		l.pidfd = -1
	}
}

// awaitExit leaves the status in the kernel. Without pidfds (before Linux 5.3) it polls.
func (l *Launched) awaitExit() {
	if l.pidfd >= 0 {
		fds := []unix.PollFd{{Fd: int32(l.pidfd), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(fds, -1); err != unix.EINTR {
				return
			}
		}
	}
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, l.PID, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if err != nil || info.Signo != 0 && info.Code != procmem.CldTrapped {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
