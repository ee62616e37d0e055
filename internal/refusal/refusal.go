// SPDX-License-Identifier: Apache-2.0

// Package refusal names why a thread or process cannot be observed.
package refusal

import (
	"errors"
	"syscall"
)

// Reason is an error that needs no allocation; callers use [errors.Is] or [Of].
type Reason uint8

// Reasons.
const (
	Other Reason = iota
	Exited
	Traced
	Denied
	Timeout
	KernelThread
	Zombie
	Not64Bit
	MaxPause // --max-pause
	Busy
	Running // stops are not allowed
	InCall
	Self
	NotAProcess
	MapLock // internal/observe, LimitLockWait
	NoFiles // prywalk's (EMFILE, ENFILE)
	NumReasons
)

// The word is for recordings and --stats, the text for messages.
var reasons = [NumReasons]struct{ word, text string }{
	Other:        {"other", "the sample failed"},
	Exited:       {"exited", "the thread or process has ended"},
	Traced:       {"traced", "already traced: detach the debugger or tracer"},
	Denied:       {"denied", "permission denied by the kernel: run as the target's user or with CAP_SYS_PTRACE"},
	Timeout:      {"timeout", "the thread did not stop in time"},
	KernelThread: {"kernel-thread", "a kernel thread: it has no user-space stack"},
	Zombie:       {"zombie", "a zombie: it has exited and has no stack"},
	Not64Bit:     {"32-bit", "a 32-bit or x32 program: only 64-bit programs are supported"},
	MaxPause:     {"max-pause", "stopping the thread is expected to take longer than --max-pause"},
	Busy:         {"busy", "too many stops are pending: finish or cancel some"},
	Running:      {"running", "the thread is running and only passive reads are allowed"},
	InCall: {"in-call",
		"the thread is in a system call that would fail if the thread were stopped"},
	Self:        {"self", "a process cannot trace itself"},
	NotAProcess: {"thread", "not a process but a thread"},
	MapLock: {"map-lock",
		"the thread's memory could not be read in time: another thread of the process holds the lock of its mappings"},
	NoFiles: {"open-files", "too many open files in prywalk: raise its limit (ulimit -n)"},
}

// Error implements error.
func (r Reason) Error() string { return reasons[r%NumReasons].text }

// Word is the reason in recordings and --stats.
func (r Reason) Word() string { return reasons[r%NumReasons].word }

// Of returns an error's reason: [NoFiles] for EMFILE and ENFILE, [Other] if none.
func Of(err error) Reason {
	if r, ok := errors.AsType[Reason](err); ok {
		return r
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return NoFiles
	}
	return Other
}
