// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/watch/perfengine"
	"prywalk/internal/watch/perfevents"
)

func TestCommandsOfAScriptHaveFunctions(t *testing.T) {
	exe, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	o := sampling(t, 499)
	events(&o).Close()
	if source(&o).Events, err = perfevents.Open(perfevents.Options{Freq: 499, Programs: true}); err != nil {
		t.Fatal(err)
	}
	defer events(&o).Close()
	o.Children = true
	const script = `echo ready; read go; for i in $(seq 200); do /bin/ls /usr/bin | sort >/dev/null; done; ` +
		`echo done; read end`
	want, r := recordUntilDoneWith(t, exec.Command(exe, "-c", script), o)
	t.Logf("the kernel says %.2f s; %.3f s are in the profile, %.3f s of short-lived children without a function, "+
		"%.3f s unseen, %d samples", want, r.ProfiledCPU, r.ShortLivedCPU, r.ExitedUnseenCPU, r.KernelSampled)
	if d := r.ProfiledCPU - want; d < -0.02*want-0.04 || d > 0.02*want+0.04 {
		t.Errorf("%.3f s of %.2f s are in the profile", r.ProfiledCPU, want)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	// A quarter covers late discoveries on a busy machine.
	if without := r.ShortLivedCPU + r.ExitedUnseenCPU; without > r.ProfiledCPU/4 {
		t.Errorf("%.3f s of %.3f s have no function", without, r.ProfiledCPU)
	}
	named := func(program string) int64 {
		return r.sumOf(3, func(p *pprof.Sample) bool {
			return label(p, "thread") == "[children: "+program+"]" && label(p, "comm") == "bash" && p.NumLabel["tid"] == nil
		})
	}
	if named("ls") == 0 || named("sort") == 0 {
		t.Errorf("%d ns of ls, %d of sort", named("ls"), named("sort"))
	}
	if n := r.sumOf(3, func(p *pprof.Sample) bool {
		return strings.HasPrefix(label(p, "thread"), "[children: ls") && startsMain(p)
	}); n == 0 {
		t.Error("no stack of ls reaches the C library's start")
	}
}

func TestCommandsOfAScriptHaveStacksWhereOnlyUserSpaceIsSampled(t *testing.T) {
	exe, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	r, err := perfevents.OpenPerThread(perfevents.Options{Freq: 499, Programs: true})
	needEvents(t, err)
	defer r.Close()
	runtime.LockOSThread() // the thread that forks
	defer runtime.UnlockOSThread()
	if !r.SampleCommand(unix.Gettid()) {
		t.Fatal("the kernel refuses samples of a command")
	}
	const script = `echo ready; read go; for i in $(seq 200); do /bin/ls /usr/bin | sort >/dev/null; done; ` +
		`echo done; read end`
	o := Options{Freq: 499, Children: true, Engine: &perfengine.Source{Events: r}}
	want, got := recordUntilDoneWith(t, exec.Command(exe, "-c", script), o)
	if d := got.ProfiledCPU - want; d < -0.02*want-0.04 || d > 0.02*want+0.04 {
		t.Errorf("%.3f s of %.2f s are in the profile", got.ProfiledCPU, want)
	}
	if d := got.TargetCPU - got.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", got.TargetCPU, got.ProfiledCPU)
	}
	if n := got.sumOf(3, func(p *pprof.Sample) bool {
		return strings.HasPrefix(label(p, "thread"), "[children: ls") && startsMain(p)
	}); n == 0 {
		t.Errorf("no stack of ls reaches the C library's start; %.3f s of %.3f s of short-lived children have none",
			got.ShortLivedCPU, got.ProfiledCPU)
	}
}

func startsMain(p *pprof.Sample) bool {
	return slices.ContainsFunc(stack(p), func(f string) bool { return strings.HasPrefix(f, "__libc_start_main") })
}
