// SPDX-License-Identifier: Apache-2.0

// Package errs has the reasons why a thread or process cannot be observed, and errors that choose an exit code.
package errs

import (
	"cmp"
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
	MapLock // internal/watch/observe, LimitLockWait
	NoFiles // prywalk's (EMFILE, ENFILE)
	NumReasons
)

// The word is for recordings and --stats, the text for messages, next is of [Reason.NextStep].
var reasons = [NumReasons]struct{ word, text, next string }{
	Other:  {word: "other", text: "the sample failed"},
	Exited: {word: "exited", text: "the thread or process has ended"},
	Traced: {"traced", "already traced: detach the debugger or tracer",
		"detach the tracer: prywalk doctor -p PID names it"},
	Denied: {"denied", "permission denied by the kernel: run as the target's user or with CAP_SYS_PTRACE",
		"prywalk doctor -p PID names the cause"},
	Timeout: {"timeout", "the thread did not stop in time",
		"check for uninterruptible sleep (state D: ps -L -o tid,stat,wchan:30,comm -p PID), a frozen cgroup, or CPUs that " +
			"are all busy"},
	KernelThread: {word: "kernel-thread", text: "a kernel thread: it has no user-space stack"},
	Zombie:       {word: "zombie", text: "a zombie: it has exited and has no stack"},
	Not64Bit:     {word: "32-bit", text: "a 32-bit or x32 program: only 64-bit programs are supported"},
	MaxPause: {"max-pause", "stopping the thread is expected to take longer than --max-pause",
		"give a longer --max-pause"},
	Busy:    {word: "busy", text: "too many stops are pending: finish or cancel some"},
	Running: {word: "running", text: "the thread is running and only passive reads are allowed"},
	InCall: {word: "in-call",
		text: "the thread is in a system call that would fail if the thread were stopped"},
	Self:        {word: "self", text: "a process cannot trace itself"},
	NotAProcess: {word: "thread", text: "not a process but a thread"},
	MapLock: {"map-lock",
		"the thread's memory could not be read in time: another thread of the process holds the lock of its mappings",
		"another thread holds the lock of the process's mappings; try again"},
	NoFiles: {"open-files", "too many open files in prywalk: raise its limit (ulimit -n)",
		"raise prywalk's limit of open files: ulimit -n 4096"},
}

// Error implements error.
func (r Reason) Error() string { return reasons[r%NumReasons].text }

// Word is the reason in recordings and --stats.
func (r Reason) Word() string { return reasons[r%NumReasons].word }

// NextStep is what to do if most observations failed for this reason. PID in it stands for the process's number.
func (r Reason) NextStep() string {
	return cmp.Or(reasons[r%NumReasons].next, "prywalk schema stats has the reasons")
}

// OfWord returns the reason of a [Reason.Word], or [Other].
func OfWord(word string) Reason {
	for r := range NumReasons {
		if r.Word() == word {
			return r
		}
	}
	return Other
}

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
