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
	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/perfevents"
)

func needsPerf(t *testing.T) {
	t.Helper()
	r, err := perfevents.Open(perfevents.ReaderOptions{Freq: 99})
	if err == nil {
		r.Close()
	}
	if err != nil {
		t.Log(err)
	}
	testtargets.Need(t, err == nil, "kernel samples", testtargets.AsRoot)
}

func inKernel(s *profile.Sample) bool {
	return slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
		return l.Mapping != nil &&
			l.Mapping.File == "[kernel]"
	})
}

func TestEnginePerfSamplesUserSpaceAndKernel(t *testing.T) {
	t.Parallel()
	needsPerf(t)
	target := testtargets.Run(t, "c", testtargets.Options{})
	r := recordUntilAs(t, nil, "100 samples of burn_60, and one in the kernel", func(p *profile.Profile) bool {
		return countOf(p, "burn_60") >= 100 && slices.ContainsFunc(p.Sample, inKernel)
	}, "--engine", "perf", "-F", "499", "-p", strconv.Itoa(target.PID))
	if r.stats.Engine != "perf" || r.stats.KernelSampled == 0 {
		t.Errorf("engine %q, %d kernel samples, want perf with some: %s", r.stats.Engine, r.stats.KernelSampled, r.stderr)
	}
}

// How much of a program's time is in the half of its period that it spends in first: 0.5, unless samples keep step
// with it. The period is 1/99 s, or a twelfth of that. Samples of one recording depend on each other, so no bound
// can be computed.
func BenchmarkShareOfHalfAPeriod(b *testing.B) {
	exe, err := testtargets.Compile("periodic.c", "-O1")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ engine, period string }{
		{"perf", "10101010"}, {"perf", "841751"}, {"ptrace", "10101010"},
	} {
		b.Run(c.engine+"/"+c.period, func(b *testing.B) {
			var first, all int64
			for range b.N {
				cmd := exec.Command(exe, c.period, "60")
				testtargets.Ready(b, cmd)
				file := filepath.Join(b.TempDir(), "r.pb.gz")
				if out, err := bounded.AllOutput(exec.Command(binary, "record", "-d", "5", "--engine", c.engine, "-o", file,
					"-p", strconv.Itoa(cmd.Process.Pid))); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				testtargets.Kill(cmd)
				f, err := os.Open(file)
				if err != nil {
					b.Fatal(err)
				}
				p, err := profile.Parse(f)
				f.Close()
				if err != nil {
					b.Fatal(err)
				}
				one := totalOf(p, "first", cpuColumn)
				first, all = first+one, all+one+totalOf(p, "second", cpuColumn)
			}
			b.ReportMetric(float64(first)/float64(max(all, 1)), "in-first")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// The kernel's stack copies end at the first absent page of the buffer. A stop reads these pages.
func TestStackWithAnUntouchedBufferIsSampledWhole(t *testing.T) {
	needsPerf(t)
	file, err := testtargets.Compile("buffer.c", "-O2", "-fno-stack-clash-protection", "-fno-stack-protector")
	if err != nil {
		t.Fatal(err)
	}
	// The number of stops is bounded, that of kernel samples is not: a longer recording has relatively fewer stops. The
	// pages that a stop has read are there from then on, so each recording is of another process.
	for samples := int64(200); ; samples *= 4 {
		c := exec.Command(file)
		testtargets.Ready(t, c)
		r := recordUntilAs(t, nil, "enough samples", func(p *profile.Profile) bool { return computing(p) >= samples },
			"--engine", "perf", "-F", "499", "-p", strconv.Itoa(c.Process.Pid))
		t.Logf("%d kernel samples, %d stops, incomplete %v", r.stats.KernelSampled, r.stats.Stopped, r.stats.Incomplete)
		if r.stats.Stopped > 0 && r.stats.KernelSampled >= 4*r.stats.Stopped {
			return
		}
		if samples > 10_000 {
			t.Fatalf("%d kernel samples, %d stops, want some stops, and four times as many kernel samples",
				r.stats.KernelSampled, r.stats.Stopped)
		}
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
		if r.stats.Engine != c.engine || r.stats.EngineNote != c.note || (r.stats.KernelSampled > 0) != (c.engine == "perf") {
			t.Errorf("%s %v: engine %q (%s), %d kernel samples; want %q (%s), kernel samples with perf only", c.target,
				c.args, r.stats.Engine, r.stats.EngineNote, r.stats.KernelSampled, c.engine, c.note)
		}
		words := map[string]string{"perf": "sampled by the kernel", "ptrace": "sampled by stopping threads"}[c.engine]
		if !strings.Contains(strings.Join(r.Comments, " "), words) {
			t.Errorf("%s %v: the recording's comments have no %q: %q", c.target, c.args, words, r.Comments)
		}
		checkAccounting(t, r.stats)
	}
}

func TestAnOrdinaryUsersThreadsAreSampledInUserSpace(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if level := strings.TrimSpace(string(b)); err != nil || level != "1" && level != "2" {
		testtargets.Need(t, false, "kernel.perf_event_paranoid of 1 or 2, not "+level,
			"sudo sysctl kernel.perf_event_paranoid=2")
	}
	needRoot(t, "run as another user")
	if err := perfevents.TryPerThread(); err != nil {
		t.Log(err)
		testtargets.Need(t, false, "perf events of threads", "a kernel or container that allows them")
	}
	// Each thread takes a descriptor per processor, beside those of prywalk's own reads.
	var limit unix.Rlimit
	err = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	testtargets.Need(t, err == nil && limit.Max >= 1024, "1024 open files", "ulimit -n 1024")
	for _, engine := range []string{"auto", "perf"} {
		target := testtargets.Run(t, "c", testtargets.Options{User: ordinary()})
		r := recordUntilAs(t, ordinary(), "100 samples with all chains", func(p *profile.Profile) bool {
			return computing(p) >= 100 && len(missingChains(p, target.Expect)) == 0
		}, "--engine", engine, "-F", "499", "-p", strconv.Itoa(target.PID))
		target.End()
		userSpace := strings.Contains(r.stats.EngineNote, "user space only")
		if r.stats.Engine != "perf" || r.stats.KernelSampled == 0 || !userSpace {
			t.Errorf("--engine %s: engine %q (%s), %d kernel samples, want perf with user space only", engine, r.stats.Engine,
				r.stats.EngineNote, r.stats.KernelSampled)
		}
		if slices.ContainsFunc(r.Sample, inKernel) {
			t.Errorf("--engine %s: a sample has a kernel frame, want user space only", engine)
		}
		checkAccounting(t, r.stats)
	}
}

func TestEnginePerfWithoutPrivilegesIsRefused(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	remedy := "CAP_PERFMON"
	if os.Geteuid() == 0 {
		remedy = "a seccomp profile that allows perf_event_open"
	}
	for code, target := range map[int][]string{3: {"-p", "1"}, 125: {"--", "sh", "-c", "exit 3"}} {
		r := command{
			exe:  self,
			env:  []string{seccompVariable + "=" + binary, withoutPerfVariable + "=1"},
			args: append([]string{"record", "--engine", "perf", "-d", "1"}, target...),
		}.run(t)
		r.must(t, code).oneLine(t, "--engine perf", remedy, "leave --engine out")
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
