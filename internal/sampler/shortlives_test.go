// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// With 400 samples the standard error is 2.2 points, with 700 1.6; the bounds are 4.6 and 5 of them.
func TestThreadsThatLiveShortlyGetTrueShares(t *testing.T) {
	for _, c := range []struct {
		life       string
		stacks     int64
		least      float64
		mostUnseen float64
	}{{"8000", 500, 0.15, 0.2}, {"2000", 900, 0.17, 0.12}} {
		t.Run(c.life, func(t *testing.T) { sharesAreTrue(t, c.life, c.stacks, c.least, c.mostUnseen) })
	}
}

func sharesAreTrue(t *testing.T, life string, stacks int64, least, mostUnseen float64) {
	exe, err := testtargets.Compile("phases.c")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, life, "2", "600")
	testtargets.Ready(t, cmd)
	r := record(t, Options{}, 4*time.Second, func(s *Sampler) {
		for s.Progress().Stacks < stacks {
			time.Sleep(10 * time.Millisecond)
		}
	}, cmd.Process.Pid)
	total := r.sumOf(3, func(*pprof.Sample) bool { return true })
	for _, name := range []string{"phase_a", "phase_b", "phase_c", "phase_d"} {
		share := float64(r.sumOf(3, func(s *pprof.Sample) bool { return slices.Contains(stack(s), name) })) / float64(total)
		if share < least || share > 0.35 {
			t.Errorf("%s has %.3f", name, share)
		}
	}
	if r.EstimatedCPU < 0.3*r.ProfiledCPU || r.ExitedUnseenCPU > mostUnseen*r.ProfiledCPU {
		t.Errorf("%v s estimated, %v s unseen, of %v", r.EstimatedCPU, r.ExitedUnseenCPU, r.ProfiledCPU)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}
