// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"
	"fmt"
	"runtime"

	"prywalk/frames"
	"prywalk/internal/refusal"
	"prywalk/ptrace"
)

// State is what a thread was doing when it was looked at.
type State uint8

// The states. Running covers a thread that is on a processor and one that is
// queued for one: the kernel reports both as R.
const (
	Running State = iota
	Sleeping
	Disk
	Stopped
)

// String gives the name that recordings use.
func (s State) String() string {
	switch s {
	case Running:
		return "running"
	case Disk:
		return "disk"
	case Stopped:
		return "stopped"
	}
	return "sleeping"
}

// Letter gives the kernel's letter for the state (proc_pid_stat(5)).
func (s State) Letter() string {
	switch s {
	case Running:
		return "R"
	case Disk:
		return "D"
	case Stopped:
		return "T"
	}
	return "S"
}

// stateOf translates the kernel's letter. Idle (I) and parked (P) belong to
// kernel threads; t is a thread that a debugger holds.
func stateOf(letter byte) State {
	switch letter {
	case 'R':
		return Running
	case 'D':
		return Disk
	case 'T', 't':
		return Stopped
	}
	return Sleeping
}

// Rung says which ways of looking may be used. The zero value is the ladder; the
// others are for measuring what one rung costs.
type Rung uint8

// The rungs that can be forced.
const (
	Ladder       Rung = iota // reuse, peek or freeze, whichever is the gentlest
	OnlyPeek                 // running threads are not looked at
	AlwaysPeek               // as the ladder, but nothing is reused
	AlwaysFreeze             // every thread is frozen at every tick, asleep or not
)

var rungNames = [...]string{"ladder", "peek", "no-reuse", "freeze"}

// String gives the name that the command line uses.
func (r Rung) String() string { return rungNames[r] }

// ParseRung is the inverse of String.
func ParseRung(name string) (Rung, error) {
	for i, n := range rungNames {
		if n == name {
			return Rung(i), nil
		}
	}
	return 0, fmt.Errorf("%q is no way of looking: choose one of %v", name, rungNames)
}

// Reason gives why a look gave nothing, of an error of it.
func Reason(err error) refusal.Reason {
	if errors.Is(err, ptrace.ErrPending) {
		return refusal.Busy
	}
	if r := refusal.Of(err); r != refusal.Self {
		return r
	}
	return refusal.Other // prywalk leaves its own threads out: --stats has no word for them
}

// hostArch is the architecture of the threads that this machine can run.
func hostArch() frames.Arch {
	if runtime.GOARCH == "arm64" {
		return frames.AArch64
	}
	return frames.X86_64
}
