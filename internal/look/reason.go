package look

import (
	"errors"

	"prywalk/ptrace"
)

// FailReason says why a look gave nothing.
type FailReason uint8

// The reasons.
const (
	ReasonOther FailReason = iota
	ReasonExited
	ReasonTraced
	ReasonDenied
	ReasonTimeout
	ReasonKernelThread
	ReasonZombie
	Reason32Bit
	ReasonMaxPause // the freeze was expected to be longer than the user allows
	ReasonBusy     // too many looks were pending
	ReasonRunning  // only peeks were allowed, and it was running
	ReasonInCall   // it runs in a call that would give up its work
	NumReasons
)

// errNotAsleep: the thread runs, and may not be frozen.
var errNotAsleep = errors.New("the thread is running and only peeks are allowed")

// failNames are the names that --stats uses; most are package ptrace's.
var failNames = [NumReasons]string{"other", "exited", "traced", "denied", "timeout", "kernel-thread", "zombie",
	"32-bit", "max-pause", "busy", "running", "in-call"}

// String gives the name that --stats uses.
func (r FailReason) String() string { return failNames[r%NumReasons] }

// Reason classifies an error of a look.
func Reason(err error) FailReason {
	switch {
	case errors.Is(err, errNotAsleep):
		return ReasonRunning
	case errors.Is(err, errMaxPause):
		return ReasonMaxPause
	case errors.Is(err, errInCall):
		return ReasonInCall
	}
	word := ptrace.Reason(err)
	for r, name := range failNames {
		if name == word {
			return FailReason(r)
		}
	}
	return ReasonOther
}
