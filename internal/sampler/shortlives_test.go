package sampler

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// TestThreadsThatLiveShortlyGetTrueShares: threads of 8 ms at 99 Hz, a quarter of each life in each of four functions.
// Before, 2, 4, 8 and 14 % had these functions, and 72 % none. With 400 looks a share has a standard error of 2.2
// points: 10 are 4.6 of them, one run in 50,000, if nothing holds the looks up.
func TestThreadsThatLiveShortlyGetTrueShares(t *testing.T) {
	exe, err := testtargets.Compile("phases.c")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "8000", "2", "600")
	testtargets.Ready(t, cmd)
	r := record(t, Options{}, 4*time.Second, func(s *Sampler) {
		for s.Progress().Stacks < 500 {
			time.Sleep(10 * time.Millisecond)
		}
	}, cmd.Process.Pid)
	total := r.sumOf(3, func(*pprof.Sample) bool { return true })
	for _, name := range []string{"phase_a", "phase_b", "phase_c", "phase_d"} {
		share := float64(r.sumOf(3, func(s *pprof.Sample) bool { return slices.Contains(stack(s), name) })) / float64(total)
		if share < 0.15 || share > 0.35 {
			t.Errorf("%s has %.3f", name, share)
		}
	}
	if r.EstimatedCPU < 0.3*r.ProfiledCPU || r.ExitedUnseenCPU > 0.2*r.ProfiledCPU {
		t.Errorf("%v s estimated, %v s unseen, of %v", r.EstimatedCPU, r.ExitedUnseenCPU, r.ProfiledCPU)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}
