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
	var c stopCounts
	for _, s := range []observe.RawSample{
		{StopTime: observe.LongStop, StopCause: ptrace.CauseLock}, {StopTime: observe.LongStop + 1,
			StopCause: ptrace.CauseLock},
		{StopTime: 9e6, StopCause: ptrace.CauseCopy}, {StopTime: 5e6, StopCause: ptrace.CauseCopy},
		{StopTime: 20e3, RanOn: observe.LongStop}, {StopTime: 20e3, RanOn: observe.LongStop + 5}, {StopTime: 20e3,
			RanOn: 3e6},
	} {
		c.noteStop(&observe.Thread{}, &s)
	}
	want := runstats.Causes{"lock": {N: 1, Max: observe.LongStop + 1}, "copy": {N: 2, Max: 9e6}}
	if got := c.longStops(); !maps.Equal(got, want) || c.lengths.N != 7 {
		t.Errorf("%v of %d, want %v", got, c.lengths.N, want)
	}
	if want := (runstats.LongEvents{N: 2, Max: 3e6}); c.lateStops != want {
		t.Errorf("late: %v, want %v", c.lateStops, want)
	}
}
