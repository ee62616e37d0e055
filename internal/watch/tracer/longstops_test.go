// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"maps"
	"testing"

	"prywalk/internal/account/runstats"
	procs "prywalk/internal/host/process"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

func TestLongStopsAreCountedByCause(t *testing.T) {
	var c stopCounts
	for _, s := range []observe.RawSample{
		{Stop: observe.StopRecord{StopTime: observe.LongStop, StopCause: ptrace.CauseLock}},
		{Stop: observe.StopRecord{StopTime: observe.LongStop + 1, StopCause: ptrace.CauseLock}},
		{Stop: observe.StopRecord{StopTime: 9e6, StopCause: ptrace.CauseCopy}},
		{Stop: observe.StopRecord{StopTime: 5e6, StopCause: ptrace.CauseCopy}},
		{Stop: observe.StopRecord{StopTime: 20e3}, RanOn: observe.LongStop},
		{Stop: observe.StopRecord{StopTime: 20e3}, RanOn: observe.LongStop + 5},
		{Stop: observe.StopRecord{StopTime: 20e3}, RanOn: 3e6},
	} {
		c.countStop(&observe.Thread{}, &s)
	}
	want := runstats.Causes{"lock": {N: 1, Max: runstats.Nanos(observe.LongStop + 1)}, "copy": {N: 2, Max: 9e6}}
	if got := c.longStops(); !maps.Equal(got, want) || c.lengths.N != 7 {
		t.Errorf("%v of %d, want %v", got, c.lengths.N, want)
	}
	if want := (runstats.LongEvents{N: 2, Max: 3e6}); c.lateStops != want {
		t.Errorf("late: %v, want %v", c.lateStops, want)
	}
}

func TestLostStopsAreCountedWithTheirEffects(t *testing.T) {
	var c counts
	th := &observe.Thread{ID: observe.ThreadID{PID: 1, TID: 2}}
	c.countLostStop(th, &observe.StopRecord{StopTime: 3e6, StopCause: ptrace.CauseCopy,
		Effect: observe.CallEffect{Repair: ptrace.Repair{Broken: true}, Call: 0}})
	c.countLostStop(&observe.Thread{}, &observe.StopRecord{StopTime: 1,
		Effect: observe.CallEffect{Repair: ptrace.Repair{Restarted: true}, Call: -1}})
	want := runstats.Causes{"copy": {N: 1, Max: 3e6}}
	if got := c.stops.longStops(); !maps.Equal(got, want) || c.stops.lengths.N != 2 {
		t.Errorf("long stops %v of %d, want %v of 2", got, c.stops.lengths.N, want)
	}
	calls := c.calls(1, 0)
	if calls.Restarted != 1 || calls.BrokenCalls[procs.HostSyscallName(0)] != 1 || c.stops.longest.TID != 2 {
		t.Errorf("%+v, longest of thread %d; want one restarted and one broken call, and thread 2", calls,
			c.stops.longest.TID)
	}
}
