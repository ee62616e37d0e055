package process

import (
	"errors"
	"fmt"
)

// Kind says why a process cannot be looked at.
type Kind uint8

// The kinds of [Error].
const (
	KindNotFound     Kind = iota + 1 // no such process, or it has ended
	KindThread                       // the number is a thread's, not a process's
	KindZombie                       // it has ended; its parent has not waited for it yet
	KindKernelThread                 // it has no user-space stack
	Kind32Bit                        // its code is of an architecture that is not supported
	KindDenied                       // the kernel does not allow it
	KindTraced                       // another tracer has it
	numKinds
)

// Sentinels for errors.Is. Each matches every [Error] of its [Kind].
var (
	ErrNotFound     = errors.New("no such process")
	ErrThread       = errors.New("not a process but a thread")
	ErrZombie       = errors.New("process has ended")
	ErrKernelThread = errors.New("kernel thread")
	Err32Bit        = errors.New("not a 64-bit process")
	ErrDenied       = errors.New("permission denied")
	ErrTraced       = errors.New("already traced")
)

var sentinels = [numKinds]error{
	KindNotFound:     ErrNotFound,
	KindThread:       ErrThread,
	KindZombie:       ErrZombie,
	KindKernelThread: ErrKernelThread,
	Kind32Bit:        Err32Bit,
	KindDenied:       ErrDenied,
	KindTraced:       ErrTraced,
}

// String gives the reason as recordings and statistics name it.
func (k Kind) String() string {
	switch k {
	case KindNotFound:
		return "exited"
	case KindThread:
		return "thread"
	case KindZombie:
		return "zombie"
	case KindKernelThread:
		return "kernel-thread"
	case Kind32Bit:
		return "32-bit"
	case KindDenied:
		return "denied"
	case KindTraced:
		return "traced"
	}
	return "unknown"
}

// Error says why a process cannot be looked at, and what to do about it. Its
// text is one line.
type Error struct {
	PID   int
	Kind  Kind
	Cause string // what is in the way
	Next  string // the smallest step that helps; empty if there is none
	Err   error  // what the kernel said, if anything
	gate  bool   // the cause was seen to be in the way; else it is what remains
}

// Error gives the cause and the next step in one line.
func (e *Error) Error() string {
	if e.Next == "" {
		return fmt.Sprintf("process %d: %s", e.PID, e.Cause)
	}
	return fmt.Sprintf("process %d: %s; %s", e.PID, e.Cause, e.Next)
}

// Is reports whether target is the sentinel of the error's kind.
func (e *Error) Is(target error) bool {
	return e.Kind < numKinds && target != nil && sentinels[e.Kind] == target
}

// Unwrap gives what the kernel said.
func (e *Error) Unwrap() error { return e.Err }
