// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"strconv"
	"testing"

	pprof "github.com/google/pprof/profile"

	procs "prywalk/internal/host/process"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
)

// Scaled down from 2,000 processes and 100,000 threads.
const (
	floodProcesses = 500
	floodThreads   = 10000
)

func flooded(t *testing.T, want float64, r *recorded) {
	t.Helper()
	own := r.sumOf(3, func(s *pprof.Sample) bool { return label(s, "comm") == "flood" })
	t.Logf("the kernel says %.2f s; in the profile %.3f s, of short-lived children %.3f s, exited unseen %.3f s; "+
		"failed %v", want, r.ProfiledCPU, r.ShortLivedCPU, r.ExitedUnseenCPU, r.Failed)
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	checkKernelsCPU(t, r, want)
	if d := float64(own)/1e9 - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%d ns of %.3f s have the program's name", own, r.ProfiledCPU)
	}
}

func flood(t *testing.T) []string {
	t.Helper()
	exe, err := testtargets.Compile("flood.c", "-O1", "-pthread")
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, strconv.Itoa(floodProcesses), strconv.Itoa(floodThreads)}
}

func TestFloodOfBirths(t *testing.T) {
	args := flood(t)
	want, r := recordUntilDone(t, exec.Command(args[0], args[1:]...))
	flooded(t, want, r)
}

func TestFloodOfBirthsInAPIDNamespace(t *testing.T) {
	enter := []string{"--pid", "--fork", "--mount-proc", "--kill-child"}
	if err := bounded.Run(exec.Command("unshare", append(enter, "true")...)); err != nil {
		testtargets.NeedRoot(t, "make a pid namespace")
		t.Log(err)
		testtargets.Need(t, false, "pid namespaces", "a container that may make them")
	}
	cmd := exec.Command("unshare", append(enter, flood(t)...)...)
	want, r := recordUntilDoneOf(t, cmd, target.SamplingOptions{Freq: 99, Children: true}, func() int {
		kids := procs.Children(cmd.Process.Pid)
		if len(kids) != 1 {
			t.Fatalf("children %v", kids)
		}
		return kids[0]
	})
	flooded(t, want, r)
}
