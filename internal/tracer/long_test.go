// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"maps"
	"testing"

	"prywalk/internal/look"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

// TestLongFreezesAreCountedByCause: none that is short, whatever its cause was.
func TestLongFreezesAreCountedByCause(t *testing.T) {
	var c counts
	for _, s := range []look.Shot{
		{Stopped: look.LongFreeze, Why: ptrace.CauseLock}, {Stopped: look.LongFreeze + 1, Why: ptrace.CauseLock},
		{Stopped: 9e6, Why: ptrace.CauseCopy}, {Stopped: 5e6, Why: ptrace.CauseCopy},
		{Stopped: 20e3, Late: look.LongFreeze}, {Stopped: 20e3, Late: look.LongFreeze + 5}, {Stopped: 20e3, Late: 3e6},
	} {
		c.froze(&s)
	}
	want := runstats.Causes{"lock": {N: 1, Max: look.LongFreeze + 1}, "copy": {N: 2, Max: 9e6}}
	if got := c.longFreezes(); !maps.Equal(got, want) || c.freezes.n != 7 {
		t.Errorf("%v of %d, want %v", got, c.freezes.n, want)
	}
	if want := (runstats.Long{N: 2, Max: 3e6}); c.late != want {
		t.Errorf("late: %v, want %v", c.late, want)
	}
}
