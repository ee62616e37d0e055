// SPDX-License-Identifier: Apache-2.0

package ptrace

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
)

// Command is a program to start held.
type Command struct {
	// Args are the program, looked up in PATH if it has no slash, and its
	// arguments.
	Args []string
	// Env is its environment, nil for that of this process; Dir its directory.
	Env []string
	Dir string
	// Stdin, Stdout and Stderr, nil for those of this process.
	Stdin, Stdout, Stderr *os.File
}

// ExecError reports that the command could not be started. Errors.Is sees Err.
type ExecError struct {
	Path string
	Err  error
}

// Error names the command and the cause.
func (e *ExecError) Error() string { return fmt.Sprintf("cannot run %s: %v", e.Path, e.Err) }

// Unwrap gives the cause, mostly a syscall.Errno.
func (e *ExecError) Unwrap() error { return e.Err }

// ExitCode gives what a shell exits with in this case: 127 if there is no such
// program, 126 if it cannot be executed (POSIX.1-2024, Shell, §2.8.2).
func (e *ExecError) ExitCode() int {
	if errors.Is(e.Err, exec.ErrNotFound) || errors.Is(e.Err, os.ErrNotExist) {
		return 127
	}
	return 126
}

// Launched is a process that was started held: it waits before its exec, as a
// child of this process, until Release.
type Launched struct {
	// PID is the process, before and after the exec.
	PID int

	path   string
	hold   *os.File // one byte lets it go, closing ends it
	status *os.File // an error number, or its end at the exec
	pidfd  int      // −1 if the kernel has none

	wait  sync.Once
	state unix.WaitStatus
	err   error

	mu   sync.Mutex // held to signal, and to wait in the kernel
	gone bool       // was waited for: the pid may be another's now
}

// Launch starts a command held, as a child of this process. It inherits what this process was started with, also
// where the Go runtime has changed that for itself (fork.go). The pid stays when Release executes the command.
// Should this process end before Release, the child ends too. Error: [*ExecError] if there is no such program.
func Launch(cmd Command) (*Launched, error) {
	if len(cmd.Args) == 0 {
		return nil, &ExecError{Err: syscall.EINVAL}
	}
	path, err := lookPath(cmd)
	if err != nil {
		return nil, &ExecError{Path: cmd.Args[0], Err: err}
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
	l := &Launched{path: path, hold: holdW, status: statusR, pidfd: -1}
	h := &heldChild{hold: int(holdR.Fd()), let: int(holdW.Fd()), status: int(statusW.Fd())}
	if err = h.prepare(cmd, path); err == nil {
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
	return l, nil
}

// lookPath finds the program. A path with a slash is taken relative to the
// command's directory; whether it can be executed shows at the exec.
func lookPath(cmd Command) (string, error) {
	if strings.Contains(cmd.Args[0], "/") {
		return cmd.Args[0], nil
	}
	path, err := exec.LookPath(cmd.Args[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil // PATH names the current directory: a shell runs it, too
	}
	return path, err
}

// Release lets the command run, and waits until it has been executed. Error:
// [*ExecError] if that failed; the process has ended then, and was waited for.
func (l *Launched) Release() error {
	_, werr := l.hold.Write([]byte{1})
	l.hold.Close()
	var b [4]byte
	n, _ := io.ReadFull(l.status, b[:])
	l.status.Close()
	switch {
	case n == len(b):
		_, _ = l.Wait() // why it ended is known
		return &ExecError{Path: l.path, Err: syscall.Errno(binary.LittleEndian.Uint32(b[:]))}
	case werr != nil:
		_, _ = l.Wait()
		return &ExecError{Path: l.path, Err: fmt.Errorf("it ended before it was released: %w", werr)}
	}
	return nil
}

// Abandon ends a command that was not released, and waits for it.
func (l *Launched) Abandon() {
	l.hold.Close()
	l.status.Close()
	_ = l.Signal(syscall.SIGKILL) // fails if it has ended, which is what is wanted
	_, _ = l.Wait()
}

// Signal sends a signal to the command; os.ErrProcessDone if it was waited for.
func (l *Launched) Signal(sig syscall.Signal) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return os.ErrProcessDone
	}
	return syscall.Kill(l.PID, sig)
}

// Wait waits until the command has ended and gives its status. It can be called from any goroutine, more than once,
// and while threads of the command are looked at. A wait in the kernel would also take their stops, whichever flags
// it has, so it polls a pidfd, and waits only when the process has ended.
func (l *Launched) Wait() (unix.WaitStatus, error) {
	l.wait.Do(l.reap)
	return l.state, l.err
}

func (l *Launched) reap() {
	l.awaitExit()
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

// awaitExit returns when the process has ended. Without pidfds (before Linux
// 5.3) it looks without consuming anything.
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
		var info sigInfo
		e := waitid(unix.P_PID, l.PID, unix.WEXITED|unix.WNOWAIT|unix.WALL, &info)
		if e != 0 || info.pid != 0 && info.code != cldTrapped {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
