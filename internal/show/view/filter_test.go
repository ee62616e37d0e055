// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"math"
	"testing"
	"time"

	rec "prywalk/internal/store/profile"
)

func clipped(cpu int64) *recording {
	r := newRecording(rec.TypeWall, rec.TypeCPU)
	r.TimeNanos, r.DurationNanos = 100e9, 10e9
	r.add("work", 8e9, cpu).NumLabel[rec.LabelEnd] = []int64{110e9}
	return r
}

func TestAdjacentTimesOfARecordingAddUpToTheWhole(t *testing.T) {
	const third = 3333333333 * time.Nanosecond
	for _, cpu := range []int64{7e9 + 1, 1, -5, math.MaxInt64, math.MinInt64} {
		wall, sum := int64(0), int64(0)
		for i := range time.Duration(3) {
			o := Options{From: i * third, To: (i + 1) * third}
			if i == 2 {
				o.To = 0
			}
			d := clipped(cpu).data(t, o)
			wall += d.Total(0)
			sum += d.Total(1)
		}
		if wall != 8e9 || sum != cpu {
			t.Errorf("wall %d, cpu %d; want 8e9, %d", wall, sum, cpu)
		}
	}
}

func TestTimesOfAProfileWithoutTimeStampsAreRefused(t *testing.T) {
	r := newRecording(rec.TypeWall, rec.TypeCPU)
	r.TimeNanos, r.DurationNanos = 100e9, 10e9
	r.add("work", 8e9, 1)
	if _, err := New(&r.Profile, Options{From: time.Second}); !errors.Is(err, ErrNoTime) {
		t.Errorf("%v, want %v", err, ErrNoTime)
	}
}
