// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"
	"testing"

	"prywalk/internal/look"
	"prywalk/internal/schedule"
)

// TestLooksAtTheYoungStandForWhatTicksCanMeet: the tracer's own work is left out on one processor, and a stop on the
// others. Nobody else's look is less than a tick, and the kernel's samples are not.
func TestLooksAtTheYoungStandForWhatTicksCanMeet(t *testing.T) {
	const apart = 2_000_000
	n := int64(runtime.NumCPU())
	c := &Tracer{timing: timing{ticks: schedule.NewTicks(0, 1e9/apart)}}
	c.now.apart, c.own.part = apart, 0.25
	frozen := &look.Shot{How: look.ByFreeze, Stopped: apart / 10}
	for _, of := range []struct {
		name string
		born bool
		shot *look.Shot
		want int64
	}{
		{"born before", false, frozen, apart},
		{"sampled", true, &look.Shot{How: look.BySample}, apart},
		{"young", true, frozen, apart - (apart/4+(n-1)*apart/10)/n},
	} {
		got := c.standsFor(&thread{born: of.born}, of.shot)
		if d := got - of.want; d < -1 || d > 1 {
			t.Errorf("%s: %d ns, want %d", of.name, got, of.want)
		}
	}
}

// TestOwnWorkIsMeasuredWhileSomebodyAsks: where no thread is born, no tick does.
func TestOwnWorkIsMeasuredWhileSomebodyAsks(t *testing.T) {
	o := ownWork{wanted: 1000}
	o.measure(1001, 1e9)
	if o.at != 1e9 || o.part != 0 {
		t.Errorf("%+v after the first tick", o)
	}
	o.cpu -= 1e9 // so much was used since
	if o.measure(1002, 3e9); o.part < 0.5 || o.at != 3e9 {
		t.Errorf("%+v", o)
	}
	if o.measure(1000+wantedFor+1, 4e9); o.at != 0 || o.part != 0 {
		t.Errorf("nobody asks, %+v", o)
	}
}
