// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"slices"
	"testing"
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/target"
)

func TestManySleepersAreBackedOffAndLoseNoTick(t *testing.T) {
	program := start(t, "sleepers", "300")
	allAsleep(t, program.pid)
	least := time.Duration(0)
	r := recordUntil(t, target.SamplingOptions{Freq: 199}, func(r *recorded) bool {
		least = r.sumOf(1, in("sleep_here"))
		return r.Ticks > 400 && float64(least) > 0.93*300*r.Seconds*1e9
	}, program.pid)
	if observations := r.Stops + r.PassiveReads + r.Unchanged; r.Inferred < observations || r.Stops != 0 {
		t.Errorf("%d observations, %d ticks inferred, %d stops", observations, r.Inferred, r.Stops)
	}
	if all := r.Ticks * 301; r.Samples+r.RanInBackoff != all {
		t.Errorf("%d samples and %d unseen of %d threads at %d ticks", r.Samples, r.RanInBackoff, 301, r.Ticks)
	}
	wall := r.sumOf(1, in("sleep_here"))
	if most := time.Duration(300 * r.Seconds * 1e9); wall > most || wall < least {
		t.Errorf("%d ns asleep of %d, and %d just before the end", wall, most, least)
	}
}

func TestBackedOffThreadsTimeIsAllThere(t *testing.T) {
	program := start(t, "bursts", "200")
	r := recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool { return r.Ticks > 200 && burnt(10)(r) },
		program.pid)
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.002 || d > 0.002 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	if r.Inferred == 0 {
		t.Error("no thread was backed off")
	}
	if r.sumOf(3, in("burn_here")) == 0 {
		t.Error("no CPU time is in burn_here")
	}
	// How much was not observed depends on when the host runs the threads.
	unseen := []string{attribute.RanBetweenTicks, attribute.ExitedUnseen, attribute.NotObserved}
	for _, s := range r.Sample {
		if label(s, "state") != "running" && s.Value[3] > 0 && !slices.Contains(unseen, stack(s)[0]) {
			t.Errorf("%d ns of CPU time of a thread that sleeps are in %q", s.Value[3], stack(s))
		}
	}
}

func TestManyRunningThreadsCostABoundedNumberOfCalls(t *testing.T) {
	program := start(t, "burners", "200")
	calls := procmem.Calls() - procmem.Waits()
	r := record(t, target.SamplingOptions{}, 3*time.Second, nil, program.pid)
	calls = procmem.Calls() - procmem.Waits() - calls
	t.Logf("%d calls besides waits, %d ticks, %d threads, %d attempted, %d left to a later tick, %d stopped",
		calls, r.Ticks, r.ThreadsMax, r.Attempted, r.LeftToLaterTick, r.Stops)
	if got := r.Attempted + r.LeftToLaterTick + r.Inferred + r.RanInBackoff; got != r.Ticks*r.ThreadsMax {
		t.Errorf("%d observations and ticks of back-offs of %d threads at %d ticks", got, r.ThreadsMax, r.Ticks)
	}
	// A stop takes about ten calls, a thread that is left to a later tick one.
	if most := 10*r.Attempted + 2*r.ThreadsMax*(r.Ticks+r.MissedTicks); calls > most {
		t.Errorf("%d calls, more than %d", calls, most)
	}
}
