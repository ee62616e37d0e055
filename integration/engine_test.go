// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/perfevents"
	"prywalk/internal/testtargets"
)

func needsPerf(t *testing.T) {
	t.Helper()
	r, err := perfevents.Open(perfevents.Options{Freq: 99})
	if err != nil {
		t.Skip(err)
	}
	r.Close()
}

func inKernel(s *profile.Sample) bool {
	return slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
		return l.Mapping != nil &&
			l.Mapping.File == "[kernel]"
	})
}

func TestEnginePerfSharesMatchTheProgram(t *testing.T) {
	t.Parallel()
	needsPerf(t)
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := recordUntilAs(t, nil, "400 samples of burn_60", func(p *profile.Profile) bool {
		return countOf(p, "burn_60") >= 400
	}, "--engine", "perf", "-F", "499", "-p", strconv.Itoa(target.PID))
	if r.stats.Engine != "perf" || r.stats.Sampled < 400 {
		t.Errorf("engine %q, %d kernel samples, want perf with 400: %s", r.stats.Engine, r.stats.Sampled, r.stderr)
	}
	sum := func(name string) float64 { return float64(totalOf(r.Profile, name, cpuColumn)) }
	all := sum("burn_60") + sum("burn_30") + sum("burn_10")
	for name, want := range map[string]float64{"burn_60": 0.6, "burn_30": 0.3, "burn_10": 0.1} {
		// 600 samples or more: the standard error is at most two points, the bound five times that.
		if got := sum(name) / all; got < want-0.1 || got > want+0.1 {
			t.Errorf("%s has %.3f of the CPU time, want %.1f ± 0.1", name, got, want)
		}
	}
	if !slices.ContainsFunc(r.Sample, inKernel) {
		t.Error("no sample has a kernel frame")
	}
}

// The period is 1/99 s, or a twelfth of that. With ptrace, five correlated samples are worth about one independent one:
// 600 have a standard error of 4.5 points. The bound is five of these.
func TestSamplesDoNotKeepStepWithAPeriodicProgram(t *testing.T) {
	needsPerf(t)
	exe, err := testtargets.Compile("periodic.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ engine, period string }{
		{"perf", "10101010"}, {"perf", "841751"}, {"ptrace", "10101010"},
	} {
		cmd := exec.Command(exe, c.period, "60")
		testtargets.Ready(t, cmd)
		r := recordUntilAs(t, nil, "600 samples", func(p *profile.Profile) bool {
			return countOf(p, "first")+countOf(p, "second") >= 600
		}, "--engine", c.engine, "-p", strconv.Itoa(cmd.Process.Pid))
		testtargets.Kill(cmd)
		first, second := totalOf(r.Profile, "first", cpuColumn), totalOf(r.Profile, "second", cpuColumn)
		share := float64(first) / float64(first+second)
		t.Logf("%s, %s ns: %.3f in first", c.engine, c.period, share)
		if share < 0.275 || share > 0.725 {
			t.Errorf("%s, %s ns: first has %.3f of the time, want a half", c.engine, c.period, share)
		}
	}
}

// The kernel's stack copies end at the first absent page of the buffer. A stop reads these pages.
func TestStackWithAnUntouchedBufferIsSampledWhole(t *testing.T) {
	needsPerf(t)
	file, err := testtargets.Compile("buffer.c", "-O2", "-fno-stack-clash-protection", "-fno-stack-protector")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(file)
	testtargets.Ready(t, c)
	r := recordUntilAs(t, nil, "400 samples", func(p *profile.Profile) bool { return computing(p) >= 400 },
		"--engine", "perf", "-F", "499", "-p", strconv.Itoa(c.Process.Pid))
	t.Logf("%d kernel samples, %d stops, incomplete %v", r.stats.Sampled, r.stats.Frozen, r.stats.Incomplete)
	if r.stats.Frozen == 0 || r.stats.Sampled < 4*r.stats.Frozen {
		t.Errorf("%d kernel samples, %d stops, want some stops, and four times as many kernel samples", r.stats.Sampled,
			r.stats.Frozen)
	}
}

func TestNoKernelLeavesTheKernelsFramesOut(t *testing.T) {
	t.Parallel()
	needsPerf(t)
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := recordUntilAs(t, nil, "100 samples", func(p *profile.Profile) bool { return countOf(p, "burn_60") >= 50 },
		"--engine", "perf", "--no-kernel", "-F", "499", "-p", strconv.Itoa(target.PID))
	if slices.ContainsFunc(r.Sample, inKernel) {
		t.Error("a sample has a kernel frame with --no-kernel")
	}
}

func TestEngineAutoChoosesPerfWhereAllowedAndAsGood(t *testing.T) {
	t.Parallel()
	needsPerf(t)
	for _, c := range []struct {
		target, engine, note string
		args                 []string
	}{
		{"c", "perf", "", nil},
		{"go", "ptrace", "1 Go program, whose threads change stacks", nil},
		{"c", "perf", "", []string{"--max-overhead", "50%"}},
		{"c", "ptrace", "--subset is about stops of running threads", []string{"--subset", "50"}},
		{"c", "ptrace", "", []string{"--engine", "ptrace"}},
	} {
		target := testtargets.Run(t, c.target, testtargets.Options{})
		r := recordUntilAs(t, nil, "100 samples", func(p *profile.Profile) bool { return computing(p) >= 100 },
			append(c.args, "-F", "199", "-p", strconv.Itoa(target.PID))...)
		target.End()
		if r.stats.Engine != c.engine || r.stats.EngineNote != c.note || (r.stats.Sampled > 0) != (c.engine == "perf") {
			t.Errorf("%s %v: engine %q (%s), %d kernel samples; want %q (%s), kernel samples with perf only", c.target,
				c.args, r.stats.Engine, r.stats.EngineNote, r.stats.Sampled, c.engine, c.note)
		}
		words := map[string]string{"perf": "sampled by the kernel", "ptrace": "sampled by stopping threads"}[c.engine]
		if !strings.Contains(strings.Join(r.Comments, " "), words) {
			t.Errorf("%s %v: the recording's comments have no %q: %q", c.target, c.args, words, r.Comments)
		}
		checkAccounting(t, r.stats)
	}
}

func TestEngineAutoIsPtraceWithoutPrivileges(t *testing.T) {
	t.Parallel()
	if b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err != nil || strings.TrimSpace(string(b)) < "1" {
		t.Skipf("every user may sample all processors here: %s", b)
	}
	if yama() > 0 {
		t.Skip("Yama forbids ordinary users to trace their other processes")
	}
	target := testtargets.Run(t, "c", testtargets.Options{User: ordinary()})
	r := recordUntilAs(t, ordinary(), "100 samples", func(p *profile.Profile) bool { return computing(p) >= 100 },
		"-p", strconv.Itoa(target.PID))
	if r.stats.Engine != "ptrace" || !strings.Contains(r.stats.EngineNote, "may not have the kernel sample") ||
		r.stats.Sampled != 0 {
		t.Errorf("engine %q (%s), %d kernel samples, want ptrace for lack of privileges", r.stats.Engine,
			r.stats.EngineNote, r.stats.Sampled)
	}
	if strings.Contains(r.stderr, "engine") {
		t.Errorf("the closing line names the engine though --engine was not given: %s", r.stderr)
	}
}

func TestEnginePerfOfAnOrdinaryUserSeesUserSpace(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if level := strings.TrimSpace(string(b)); err != nil || level != "1" && level != "2" {
		t.Skipf("ordinary users may not sample just their own processes here: kernel.perf_event_paranoid is %s", level)
	}
	if ordinary() == nil {
		t.Skip("needs root, to run as another user")
	}
	if err := perfevents.TryPerThread(); err != nil {
		t.Skip(err)
	}
	target := testtargets.Run(t, "c", testtargets.Options{User: ordinary()})
	shares := map[string]float64{"burn_60": 0.6, "burn_30": 0.3, "burn_10": 0.1}
	// Stops and kernel samples have different weights.
	r := recordUntilAs(t, ordinary(), "400 effective samples of the shares", func(p *profile.Profile) bool {
		_, _, count := timesOf(p, shares)
		return count >= 400
	}, "--engine", "perf", "-F", "499", "-p", strconv.Itoa(target.PID))
	if r.stats.Engine != "perf" || r.stats.Sampled == 0 || !strings.Contains(r.stats.EngineNote, "user space only") {
		t.Errorf("engine %q (%s), %d kernel samples, want perf with user space only", r.stats.Engine,
			r.stats.EngineNote, r.stats.Sampled)
	}
	checkShares(t, r.Profile, shares)
	checkAccounting(t, r.stats)
}

func TestEnginePerfWithoutPrivilegesIsRefused(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for code, target := range map[int][]string{3: {"-p", "1"}, 125: {"--", "sh", "-c", "exit 3"}} {
		r := command{
			exe:  self,
			env:  []string{seccompVariable + "=" + binary, withoutPerfVariable + "=1"},
			args: append([]string{"record", "--engine", "perf", "-d", "1"}, target...),
		}.run(t)
		r.must(t, code).oneLine(t, "--engine perf", "CAP_PERFMON", "leave --engine out")
	}
}

func TestSeccompFilterThatKillsOnPerfEventOpenIsSurvived(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"kill", "kill thread"} {
		filtered := func(args ...string) result {
			return command{
				exe:  self,
				env:  []string{seccompVariable + "=" + binary, withoutPerfVariable + "=" + how},
				args: append([]string{"record", "-d", "1", "-o", filepath.Join(t.TempDir(), "r.pb.gz")}, args...),
			}.run(t)
		}
		stats := filepath.Join(t.TempDir(), "stats.json")
		filtered("--stats", stats, "--", "sleep", "0.5").must(t, 0)
		if b, err := os.ReadFile(stats); err != nil || !strings.Contains(string(b), "seccomp filter kills") {
			t.Errorf("%s: no \"seccomp filter kills\" in the statistics: %s %v", how, b, err)
		}
		filtered("--engine", "perf", "--", "sleep", "0.5").must(t, 125).oneLine(t, "a seccomp filter kills", "ptrace is used")
	}
}

func countOf(p *profile.Profile, name string) int64 { return totalOf(p, name, 0) }

func totalOf(p *profile.Profile, name string, column int) (n int64) {
	for _, s := range p.Sample {
		if slices.Contains(stackOf(s), name) {
			n += s.Value[column]
		}
	}
	return n
}
