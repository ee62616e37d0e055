// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// Of 500 samples in phases, a share has a standard error of 1.94 points, of 750 one of 1.58: the bounds are 5.1 of
// them, and one run in a million fails. On a busy machine samples weigh unequally: several recordings are added up
// until they are worth as many.
func TestThreadsThatLiveShortlyGetTrueShares(t *testing.T) {
	for _, c := range []struct {
		life       string
		stacks     int64
		worth      float64
		least      float64
		mostUnseen float64
	}{{"8000", 500, 500, 0.15, 0.2}, {"2000", 900, 750, 0.17, 0.12}} {
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
				r := record(t, Options{}, 4*time.Second, gotStacks, cmd.Process.Pid)
				checkShortLives(t, r, c.mostUnseen)
				inPhases, samples := r.inPhases(phases)
				sum, worth = sum+inPhases, worth+samples
			}
			if worth < c.worth {
				t.Errorf("the recordings are worth %.0f samples", worth)
			}
			for _, name := range []string{"phase_a", "phase_b", "phase_c", "phase_d"} {
				if share := phases[name] / sum; share < c.least || share > 0.35 {
					t.Errorf("%s has %.3f, in recordings worth %.0f samples", name, share, worth)
				}
			}
		})
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

// Where threads mostly wait for a CPU, ticks find few of them on one.
func checkShortLives(t *testing.T, r *recorded, mostUnseen float64) {
	t.Helper()
	if queued, cpu := r.sumOf(2, every), r.sumOf(3, every); queued > cpu {
		t.Logf("%v s on a CPU, %v s queued: the machine is busy", seconds(cpu), seconds(queued))
	} else if r.EstimatedCPU < 0.3*r.ProfiledCPU || r.ExitedUnseenCPU > mostUnseen*r.ProfiledCPU {
		t.Errorf("%v s estimated, %v s unseen, of %v", r.EstimatedCPU, r.ExitedUnseenCPU, r.ProfiledCPU)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}
