// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"maps"
	"testing"

	"prywalk/internal/observe"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

func TestLongStopsAreCountedByCause(t *testing.T) {
	var c counts
	for _, s := range []observe.RawSample{
		{Stopped: observe.LongStop, Why: ptrace.CauseLock}, {Stopped: observe.LongStop + 1, Why: ptrace.CauseLock},
		{Stopped: 9e6, Why: ptrace.CauseCopy}, {Stopped: 5e6, Why: ptrace.CauseCopy},
		{Stopped: 20e3, Late: observe.LongStop}, {Stopped: 20e3, Late: observe.LongStop + 5}, {Stopped: 20e3, Late: 3e6},
	} {
		c.stopped(&s)
	}
	want := runstats.Causes{"lock": {N: 1, Max: observe.LongStop + 1}, "copy": {N: 2, Max: 9e6}}
	if got := c.longStops(); !maps.Equal(got, want) || c.stops.N != 7 {
		t.Errorf("%v of %d, want %v", got, c.stops.N, want)
	}
	if want := (runstats.LongEvents{N: 2, Max: 3e6}); c.late != want {
		t.Errorf("late: %v, want %v", c.late, want)
	}
}
