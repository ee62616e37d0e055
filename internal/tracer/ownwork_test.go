// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"
	"testing"

	"prywalk/internal/observe"
	"prywalk/internal/target"
)

func TestObservationsOfNewThreadsLeaveOwnWorkOut(t *testing.T) {
	const apart = 2_000_000
	n := int64(runtime.NumCPU())
	c := newTracer(Options{Freq: 1e9 / apart})
	c.Tick.Period = c.pace.ticks.Period()
	c.Tick.StandsFor, c.observations.own.workPart = apart, 0.25
	byStop := &observe.RawSample{How: observe.ByStop, StopTime: apart / 10}
	for _, of := range []struct {
		name    string
		created bool
		raw     *observe.RawSample
		want    int64
	}{
		{"created before", false, byStop, apart},
		{"sampled", true, &observe.RawSample{How: observe.ByKernelSample}, apart},
		{"young", true, byStop, apart - (apart/4+(n-1)*apart/10)/n},
	} {
		got := c.observations.standsFor(&target.Thread{FromZero: of.created}, of.raw)
		if d := got - of.want; d < -1 || d > 1 {
			t.Errorf("%s: %d ns, want %d", of.name, got, of.want)
		}
	}
}

func TestOwnWorkIsMeasuredWhileItIsAskedFor(t *testing.T) {
	o := ownWork{lastWanted: 1000}
	o.measure(1001, 1e9)
	if o.measuredAt != 1e9 || o.workPart != 0 {
		t.Errorf("%+v after the first tick", o)
	}
	o.cpuThen -= 1e9
	if o.measure(1002, 3e9); o.workPart < 0.5 || o.measuredAt != 3e9 {
		t.Errorf("%+v", o)
	}
	if o.measure(1000+wantedFor+1, 4e9); o.measuredAt != 0 || o.workPart != 0 {
		t.Errorf("it is not asked for, %+v", o)
	}
}
