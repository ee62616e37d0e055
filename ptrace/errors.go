// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

// Why a look failed. They are returned as they are, without allocation; the
// caller knows the thread.
var (
	// ErrGone: the thread has ended.
	ErrGone error = refusal.Gone
	// ErrDenied: the kernel does not let this user trace the thread (another
	// user's, Yama, not dumpable, a filter).
	ErrDenied error = refusal.Denied
	// ErrTraced: a debugger or another tracer is attached, or was a moment ago.
	ErrTraced error = refusal.Traced
	// ErrZombie: it has exited and waits for its parent.
	ErrZombie error = refusal.Zombie
	// ErrKernelThread: it has no user-space stack.
	ErrKernelThread error = refusal.KernelThread
	// ErrSelf: a thread of this very process.
	ErrSelf error = refusal.Self
	// Err32Bit: it executes 32-bit or x32 code.
	Err32Bit error = refusal.Not64Bit
	// ErrTimeout: it did not stop in time (queued, uninterruptible, frozen).
	ErrTimeout error = refusal.Timeout
	// ErrBusy: as many looks are pending as the controller has room for.
	ErrBusy error = refusal.Busy
	// ErrPending: a look at this thread is under way.
	ErrPending = errors.New("a stop of this thread is already pending")
	// ErrNotStopped: Finish was called before the thread stopped.
	ErrNotStopped = errors.New("the thread has not stopped")
)

// Reason gives the word for an error that recordings and --stats use: "exited",
// "traced", "denied", "timeout", "kernel-thread", "zombie", "32-bit", "self",
// "busy", or "other".
func Reason(err error) string {
	if errors.Is(err, ErrPending) {
		return refusal.Busy.Word()
	}
	return refusal.Of(err).Word()
}

// refused says why PTRACE_SEIZE failed. The kernel says EPERM for most reasons
// (kernel/ptrace.c, ptrace_attach), so /proc is asked which it was. sure: no filter of
// this process refuses ptrace.
func refused(tid int, e syscall.Errno, sure bool) error {
	switch e {
	case syscall.ESRCH:
		return ErrGone
	case syscall.EPERM, syscall.EACCES:
	default:
		return e
	}
	var st procmem.Status
	if err := procmem.ReadStatus(tid, &st); err != nil {
		// It has ended meanwhile, or /proc is mounted to hide it (hidepid).
		if syscall.Kill(tid, 0) == syscall.ESRCH {
			return ErrGone
		}
		return ErrDenied
	}
	if err := refusedAs(tid, &st); !errors.Is(err, ErrDenied) || !sure {
		return err
	}
	return heldOrDenied(tid)
}

// filtered reports whether a seccomp filter may refuse system calls of this thread (prctl(2), PR_GET_SECCOMP).
func filtered() bool {
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return err != nil && err != unix.EINVAL || mode != 0 // EINVAL: a kernel without seccomp
}

// heldOrDenied tells a thread that another tracer held, and has let go since, from one that may not be traced. Memory
// is read on the same terms as threads are traced (kernel/fork.c, mm_access; kernel/ptrace.c, ptrace_may_access), but
// by several at once: who may read it was refused because of somebody else.
func heldOrDenied(tid int) error {
	var b [1]byte
	switch _, err := procmem.ReadVM(tid, 0, b[:]); {
	case errors.Is(err, ErrGone):
		return ErrGone
	case err == nil, errors.Is(err, procmem.ErrFault):
		return ErrTraced
	}
	return ErrDenied
}

func refusedAs(tid int, st *procmem.Status) error {
	switch {
	case st.State == 'Z' || st.State == 'X':
		return ErrZombie
	case st.TracerPid != 0:
		return ErrTraced
	case st.Tgid == os.Getpid():
		return ErrSelf
	}
	var stat procmem.Stat
	if st.KernelThread || procmem.ReadStat(tid, &stat) == nil && stat.KernelThread() {
		return ErrKernelThread
	}
	return ErrDenied
}
