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
	// Attr are further attributes, such as the user to run as.
	Attr *syscall.SysProcAttr
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

// Launch starts a command held. What runs until Release is this very program,
// started again, in the initialisation of this package; it becomes the command by
// exec, so the pid stays. It is attached to by nobody. Should this process end
// before Release, it ends too. Errors: [*ExecError].
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
	attr := &syscall.ProcAttr{Dir: cmd.Dir, Env: cmd.Env, Sys: cmd.Attr, Files: []uintptr{
		stdio(cmd.Stdin, os.Stdin), stdio(cmd.Stdout, os.Stdout), stdio(cmd.Stderr, os.Stderr),
		holdFD: holdR.Fd(), statusFD: statusW.Fd()}}
	if attr.Env == nil {
		attr.Env = os.Environ()
	}
	l.PID, err = syscall.ForkExec("/proc/self/exe", append([]string{heldName, path}, cmd.Args...), attr)
	if err != nil {
		holdW.Close()
		statusR.Close()
		return nil, &ExecError{Path: path, Err: err}
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
	return exec.LookPath(cmd.Args[0])
}

// stdio gives the descriptor of f, or of the default.
func stdio(f, or *os.File) uintptr {
	if f == nil {
		f = or
	}
	return f.Fd()
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

const (
	// heldName is argument 0 of this program when it is to become a command.
	heldName = "prywalk: held before exec"
	holdFD   = 3
	statusFD = 4
	// exitAbandoned is the exit status when the parent ended before the release.
	exitAbandoned = 125
)

// init turns a process that Launch started into the command. It is here and not
// in a function for main to call, so that no program that launches can forget it
// and start itself without end.
func init() {
	if len(os.Args) >= 3 && os.Args[0] == heldName {
		runHeld(os.Args[1], os.Args[2:])
	}
}

// runHeld waits for one byte, then executes the command. It does not return.
func runHeld(path string, args []string) {
	syscall.CloseOnExec(holdFD)
	syscall.CloseOnExec(statusFD)
	var b [1]byte
	for {
		n, err := syscall.Read(holdFD, b[:])
		if err == syscall.EINTR {
			continue
		}
		if n != 1 {
			os.Exit(exitAbandoned)
		}
		break
	}
	// Execve also restores what the Go runtime changed for itself: signal
	// handlers and the limit of open files.
	err := syscall.Exec(path, args, os.Environ())
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		errno = syscall.EINVAL
	}
	var e [4]byte
	binary.LittleEndian.PutUint32(e[:], uint32(errno))
	_, _ = syscall.Write(statusFD, e[:]) // the exit status says it too
	os.Exit(126)
}
