// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// With 400 samples the standard error is 2.2 points, with 700 1.6; the bounds are 4.6 and 5 of them. On a busy machine
// samples weigh unequally: several recordings are added up until they are worth as many.
func TestThreadsThatLiveShortlyGetTrueShares(t *testing.T) {
	for _, c := range []struct {
		life       string
		stacks     int64
		worth      float64
		least      float64
		mostUnseen float64
	}{{"8000", 500, 400, 0.15, 0.2}, {"2000", 900, 700, 0.17, 0.12}} {
		t.Run(c.life, func(t *testing.T) {
			exe, err := testtargets.Compile("phases.c")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe, c.life, "2", "600")
			testtargets.Ready(t, cmd)
			phases := map[string]float64{}
			sum, worth := 0.0, 0.0
			for n := 0; worth < c.worth && n < maxRecordings; n++ {
				r := record(t, Options{}, 4*time.Second, func(s *Sampler) {
					for s.Progress().Stacks < c.stacks {
						time.Sleep(10 * time.Millisecond)
					}
				}, cmd.Process.Pid)
				checkShortLives(t, r, c.mostUnseen)
				inPhases, squares := 0.0, 0.0
				for _, s := range r.Sample {
					cpu := float64(s.Value[3])
					sum += cpu
					for _, name := range stack(s) {
						if strings.HasPrefix(name, "phase_") {
							phases[name] += cpu
							inPhases += cpu
							squares += cpu * cpu
						}
					}
				}
				worth += inPhases * inPhases / max(squares, 1) // Kish's effective size
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

func checkShortLives(t *testing.T, r *recorded, mostUnseen float64) {
	t.Helper()
	if r.EstimatedCPU < 0.3*r.ProfiledCPU || r.ExitedUnseenCPU > mostUnseen*r.ProfiledCPU {
		t.Errorf("%v s estimated, %v s unseen, of %v", r.EstimatedCPU, r.ExitedUnseenCPU, r.ProfiledCPU)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}
