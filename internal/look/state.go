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
