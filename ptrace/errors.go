// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"
	"os"
	"syscall"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"

	"golang.org/x/sys/unix"
)

// Errors of stops, returned unwrapped.
var (
	ErrGone         error = errs.Exited
	ErrDenied       error = errs.Denied // uid, Yama, not dumpable, or seccomp
	ErrTraced       error = errs.Traced // another tracer is or was attached
	ErrZombie       error = errs.Zombie // exited, not yet reaped
	ErrKernelThread error = errs.KernelThread
	ErrSelf         error = errs.Self
	Err32Bit        error = errs.Not64Bit // it runs 32-bit or x32 code
	ErrTimeout      error = errs.Timeout
	ErrBusy         error = errs.Busy // Options.MaxPending attachments are in use, or an exec replaces the thread
	ErrPending            = errors.New("a stop of this thread is already pending")
	ErrNotStopped         = errors.New("the thread has not stopped")
)

// errNotRefusedNow means that another tracer was attached and has detached, or the thread was being replaced by an
// exec.
var errNotRefusedNow = errors.New("the seizure was refused for a reason that is gone")

// seizeRefused finds why PTRACE_SEIZE failed, mostly with EPERM (kernel/ptrace.c, ptrace_attach). unfiltered means that
// no seccomp filter of this process refuses it.
func seizeRefused(tid int, e syscall.Errno, unfiltered bool) error {
	switch e {
	case syscall.ESRCH:
		return ErrGone
	case syscall.EPERM, syscall.EACCES:
	default:
		return e
	}
	var st procmem.Status
	if err := procmem.ReadStatus(tid, &st); err != nil {
		if syscall.Kill(tid, 0) == syscall.ESRCH {
			return ErrGone
		}
		return ErrDenied
	}
	if err := refusedByState(tid, &st); !errors.Is(err, ErrDenied) || !unfiltered {
		return err
	}
	return allowedOrDenied(tid)
}

func mayBeSeccompFiltered() bool {
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return err != nil && err != unix.EINVAL || mode != 0 // EINVAL: no seccomp
}

// allowedOrDenied tells errNotRefusedNow from ErrDenied by a read of memory, which needs the same permission as a
// seizure (mm_access, ptrace_may_access) but is not exclusive.
func allowedOrDenied(tid int) error {
	var b [1]byte
	switch _, err := procmem.ReadVM(tid, 0, b[:]); {
	case errors.Is(err, ErrGone):
		return ErrGone
	case err == nil, errors.Is(err, procmem.ErrFault):
		return errNotRefusedNow
	}
	return ErrDenied
}

func refusedByState(tid int, st *procmem.Status) error {
	switch {
	case st.State == 'Z' || st.State == 'X':
		return ErrZombie
	case st.TracerPid == unix.Gettid(): // a tracee of ours that has got this number by an exec
		return ErrBusy
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

type (
	// SchedStat is a thread's scheduler counts (/proc/TID/schedstat).
	SchedStat = procmem.SchedStat
	// SyscallInfo is a thread's system call (/proc/TID/syscall).
	SyscallInfo = procmem.SyscallInfo
	// ThreadFiles are a thread's /proc files.
	ThreadFiles = procmem.ThreadFiles
	// Memory is a process's memory.
	Memory = procmem.Memory
	// Span is a mapping of a [Memory].
	Span = procmem.Span
	// SpanKind is what a [Span] holds.
	SpanKind = procmem.SpanKind
	// SyscallThreads are threads that read memory for a [Memory].
	SyscallThreads = procmem.SyscallThreads
	// TaskDir lists the threads of a process.
	TaskDir = procmem.TaskDir
	// FDBudget bounds the files kept open.
	FDBudget = procmem.FDBudget
	// Stat is part of /proc/PID/stat.
	Stat = procmem.Stat
	// Status is part of /proc/PID/status.
	Status = procmem.Status
	// Moment is a point of CLOCK_MONOTONIC.
	Moment = monotonic.Moment
	// Comm is a thread's name.
	Comm = procmem.Comm
)

// OpenMemory opens the memory of tid's process. The caller closes it.
func OpenMemory(tid int) *Memory { return procmem.OpenMemory(tid) }

// OpenThread returns a thread's files, none of them kept open. It succeeds for a missing thread; reads then fail.
func OpenThread(pid, tid int) *ThreadFiles { return procmem.OpenThread(pid, tid, nil) }

// Now returns the time on CLOCK_MONOTONIC.
//
//go:nosplit
func Now() Moment { return procmem.Moment() }

// Pin prevents pre-emption of the calling goroutine until [Unpin]; pairs nest. Meanwhile ordinary system calls abort
// the runtime, and garbage collections wait. They do not during the waits of a [Controller], which hand back the P.
func Pin() { procmem.Pin() }

// Unpin ends [Pin].
func Unpin() { procmem.Unpin() }
