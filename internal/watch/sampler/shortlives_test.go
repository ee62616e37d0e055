// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/statistics"
	"prywalk/internal/watch/target"
)

// The program's phases have equal CPU time. Ticks and births are independent, so what a sample shows is drawn with
// probability 1/4; on a busy machine samples weigh unequally, and recordings are added up until they are worth as many.
func TestStatisticalSharesOfThreadsThatLiveShortly(t *testing.T) {
	for _, c := range []struct {
		life   string
		stacks int64
		worth  float64
	}{{"8000", 500, 500}, {"2000", 900, 750}} {
		t.Run(c.life, func(t *testing.T) {
			exe, err := testtargets.Compile("phases.c")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe, c.life, "2", "600")
			testtargets.Ready(t, cmd)
			phases := map[string]float64{}
			sum, worth := 0.0, 0.0
			gotStacks := func(s *Sampler) { await(t, "stacks", func() bool { return s.Progress().Stacks >= c.stacks }) }
			for n := 0; worth < c.worth && n < maxRecordings; n++ {
				r := record(t, target.SamplingOptions{}, 4*time.Second, gotStacks, cmd.Process.Pid)
				if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
					t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
				}
				inPhases, samples := r.inPhases(phases)
				sum, worth = sum+inPhases, worth+samples
			}
			if worth < c.worth {
				t.Errorf("the recordings are worth %.0f samples", worth)
			}
			checkPhases(t, phases, sum, worth)
		})
	}
}

// checkPhases compares the shares of four phases of equal time, in recordings that are worth so many samples.
func checkPhases(t *testing.T, phases map[string]float64, sum, worth float64) {
	t.Helper()
	names := []string{"phase_a", "phase_b", "phase_c", "phase_d"}
	low, high := statistics.BinomialRange(int(worth), 0.25, statistics.ErrorRate/float64(2*len(names)))
	for _, name := range names {
		if share := phases[name] / sum; share*worth < float64(low)-1 || share*worth > float64(high)+1 {
			t.Errorf("%s has %.3f, in recordings worth %.0f samples: want %d to %d of these", name, share, worth, low, high)
		}
	}
}

const maxRecordings = 15

// inPhases adds the CPU time of the program's phases to that of each. samples is what its samples are worth: Kish's
// effective size.
func (r *recorded) inPhases(each map[string]float64) (cpu, samples float64) {
	squares := 0.0
	for _, s := range r.Sample {
		for _, name := range stack(s) {
			if ns := float64(s.Value[3]); strings.HasPrefix(name, "phase_") {
				each[name] += ns
				cpu += ns
				squares += ns * ns
			}
		}
	}
	return cpu, cpu * cpu / max(squares, 1)
}
