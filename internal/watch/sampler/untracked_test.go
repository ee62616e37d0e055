// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/statistics"
	"prywalk/internal/watch/perfengine"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
)

const (
	listings     = 200
	samplesOften = 499 // Hz
	listAndSort  = `echo ready; read go; for i in $(seq 200); do /bin/ls /usr/bin | sort >/dev/null; done; ` +
		`echo done; read end`
)

// recordPrograms records a script of short commands, of which the kernel's samples give the stacks.
func recordPrograms(t *testing.T) *recorded {
	t.Helper()
	o := sampling(t, samplesOften)
	events(&o).Close()
	var err error
	source(&o).Events, err = perfevents.Open(perfevents.ReaderOptions{Freq: samplesOften, Programs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer events(&o).Close()
	o.Children = true
	want, r := recordUntilDoneWith(t, exec.Command(testtargets.NeedProgram(t, "bash"), "-c", listAndSort), o)
	t.Logf("the kernel says %.2f s; %.3f s are in the profile, %.3f s of short-lived children without a function, "+
		"%.3f s unseen, %d samples", want, r.ProfiledCPU, r.ShortLivedCPU, r.ExitedUnseenCPU, r.KernelSampled)
	checkKernelsCPU(t, r, want)
	if d := r.TargetCPU - r.ProfiledCPU; d < -1e-6 || d > 1e-6 {
		t.Errorf("%v s by the kernel, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	return r
}

func TestCommandsOfAScriptHaveFunctions(t *testing.T) {
	r := recordPrograms(t)
	named := func(program string) time.Duration {
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

// A sample stands for one period of CPU time. A command has as many samples as periods, or one more: which, depends on
// when it begins. All together may have fewer than their time, and only that rest has no function.
func TestStatisticalTimeOfCommandsWithoutAFunction(t *testing.T) {
	r := recordPrograms(t)
	const commands = 2 * listings
	most := commands * statistics.HoeffdingDistance(commands, statistics.ErrorRate) / samplesOften
	if without := r.ShortLivedCPU + r.ExitedUnseenCPU; without > most {
		t.Errorf("%.3f s of %.3f s have no function, more than %.3f s", without, r.ProfiledCPU, most)
	}
}

func TestCommandsOfAScriptHaveStacksWhereOnlyUserSpaceIsSampled(t *testing.T) {
	exe := testtargets.NeedProgram(t, "bash")
	r, err := perfevents.OpenPerThread(perfevents.ReaderOptions{Freq: samplesOften, Programs: true})
	needEvents(t, err)
	defer r.Close()
	runtime.LockOSThread() // the thread that forks
	defer runtime.UnlockOSThread()
	if !r.SampleCommand(unix.Gettid()) {
		t.Fatal("the kernel refuses samples of a command")
	}
	o := target.SamplingOptions{Freq: samplesOften, Children: true, Engine: &perfengine.Source{Events: r}}
	want, got := recordUntilDoneWith(t, exec.Command(exe, "-c", listAndSort), o)
	checkKernelsCPU(t, got, want)
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
