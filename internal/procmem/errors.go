package procmem

import (
	"errors"
	"syscall"
)

// What callers branch on. All are returned as they are, so that no read
// allocates memory; the caller knows which thread and which file it asked for.
var (
	// ErrGone: the process or thread has ended (ESRCH, ENOENT).
	ErrGone = errors.New("the thread or process has ended")
	// ErrDenied: the kernel does not let this user look (EACCES, EPERM).
	ErrDenied = errors.New("permission denied by the kernel: run as the target's user or with CAP_SYS_PTRACE")
	// ErrFormat: a file does not have the form that proc(5) gives.
	ErrFormat = errors.New("unexpected format of a file in /proc")
	// ErrFault: nothing could be read at the address (EFAULT, EIO).
	ErrFault = errors.New("address is not mapped or not readable in the process")
)

// classify turns an error number into one of the errors above, or gives it as it
// is. Conversion of an Errno below 256 to an interface does not allocate.
func classify(e syscall.Errno) error {
	switch e {
	case 0:
		return nil
	case syscall.ESRCH, syscall.ENOENT:
		return ErrGone
	case syscall.EACCES, syscall.EPERM:
		return ErrDenied
	case syscall.EFAULT, syscall.EIO:
		return ErrFault
	}
	return e
}
