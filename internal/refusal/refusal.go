// Package refusal says why a thread or a process cannot be looked at: one type for all who look, and for all who decide
// by it.
package refusal

import "errors"

// Reason is why. It is an error by itself: functions return it as it is, without allocation, and callers ask for it by
// [errors.Is] or [Of].
type Reason uint8

// The reasons.
const (
	Other Reason = iota
	Gone
	Traced
	Denied
	Timeout
	KernelThread
	Zombie
	Not64Bit
	MaxPause // for as long as the user allows
	Busy
	Running // and only peeks are allowed
	InCall
	Self
	NotAProcess
	NumReasons
)

// reasons have the word that recordings and --stats use, and the text for people.
var reasons = [NumReasons]struct{ word, text string }{
	Other:        {"other", "the look failed"},
	Gone:         {"exited", "the thread or process has ended"},
	Traced:       {"traced", "already traced: detach the debugger first"},
	Denied:       {"denied", "permission denied by the kernel: run as the target's user or with CAP_SYS_PTRACE"},
	Timeout:      {"timeout", "the thread did not stop in time"},
	KernelThread: {"kernel-thread", "a kernel thread: it has no user-space stack"},
	Zombie:       {"zombie", "a zombie: it has exited and has no stack"},
	Not64Bit:     {"32-bit", "a 32-bit or x32 program: only 64-bit programs are supported"},
	MaxPause:     {"max-pause", "a freeze of the thread is expected to take longer than allowed"},
	Busy:         {"busy", "too many looks are pending: finish or cancel some"},
	Running:      {"running", "the thread is running and only peeks are allowed"},
	InCall: {"in-call",
		"the thread is in a system call that would give up its work if the thread were stopped"},
	Self:        {"self", "a process cannot trace itself"},
	NotAProcess: {"thread", "not a process but a thread"},
}

// Error implements error.
func (r Reason) Error() string { return reasons[r%NumReasons].text }

// Word is how recordings and --stats name it.
func (r Reason) Word() string { return reasons[r%NumReasons].word }

// Of gives the reason that is in an error, Other where there is none.
func Of(err error) Reason {
	if r, ok := err.(Reason); ok { //nolint:errorlint // the same as below, without allocation
		return r
	}
	var r Reason
	if errors.As(err, &r) {
		return r
	}
	return Other
}
