// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/watch/target"
	"prywalk/internal/watch/tracer"
)

func TestBudgetHoldsWithSeveralThreadsThatRun(t *testing.T) {
	const share = 0.002
	program := start(t, "burners", "4")
	r := recordUntil(t, target.SamplingOptions{Freq: 1000, MaxOverhead: share}, func(r *recorded) bool {
		return r.Seconds > 2 &&
			r.Stops > 20
	}, program.pid)
	// The first account is made at the second tick, and the last samples are taken without one.
	surplus := 2*4*(seconds(time.Duration(r.StopTime.Max))+tracer.StopCost/1e9) + tracer.FreeLoss/1e9
	if r.Lost > share*r.TargetCPU+surplus {
		t.Errorf("%v s lost of %v s", r.Lost, r.TargetCPU)
	}
	if r.Stops == 0 || r.Freq > 500 { // a stop costs at least 10 µs
		t.Errorf("%d stops, %v/s", r.Stops, r.Freq)
	}
	if least := float64(r.Stops) * tracer.StopCost / 1e9; r.Lost < least {
		t.Errorf("%v s lost by %d stops", r.Lost, r.Stops)
	}
	total := int64(0)
	for _, b := range r.StopTimes {
		total += b.N
	}
	last := r.StopTimes[len(r.StopTimes)-1]
	if total != r.Stops || last.Below <= r.StopTime.Max || last.Below/2 > r.StopTime.Max {
		t.Errorf("%v of %d stops, the longest %d", r.StopTimes, r.Stops, r.StopTime.Max)
	}
	if r.FreqAsked != 1000 || r.MaxOverhead != share {
		t.Errorf("asked for: %v/s, %v", r.FreqAsked, r.MaxOverhead)
	}
}

func TestProcessThatEndsWhileTicksAreWithheldEndsTheRun(t *testing.T) {
	program := start(t, "ends")
	r := record(t, target.SamplingOptions{Freq: 1000, MaxOverhead: 1e-9}, patience, func(s *Sampler) {
		stopped(t, s, 1)
		await(t, "ticks are withheld", func() bool { return s.Progress().Tracer.WithheldTicks > 0 })
		program.signal(t, unix.SIGUSR1)
	}, program.pid)
	if r.Seconds > 0.9*patience.Seconds() || r.TicksWithheld == 0 {
		t.Errorf("%v s, %d ticks withheld", r.Seconds, r.TicksWithheld)
	}
}
