// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

var patience = 4 * time.Minute

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	testtargets.Eventually(t, what, holds)
}

func (p *target) threadsByName() map[string]int {
	all := map[string]int{}
	for _, line := range p.lines {
		var tid int
		var name string
		if n, _ := fmt.Sscanf(line, "thread %d %s", &tid, &name); n == 2 {
			all[name] = tid
		}
	}
	return all
}

// The targets' calls time out after 5 ms. Each stop restarts epoll_wait with its full time-out
// (docs/system-calls.md).
func rate(rung string) string {
	if rung == "stop" {
		return "100"
	}
	return "1000"
}

func TestThreadsThatCannotStopHoldNothingUp(t *testing.T) {
	t.Parallel()
	testtargets.NeedRoot(t, "hold page faults of the kernel open")
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "stuck")
			tids := p.threadsByName()
			for name, want := range map[string]string{"fault": "S", "copy": "D", "vfork": "D"} {
				await(t, name+" in state "+want, func() bool { return strings.HasPrefix(status(tids[name], "State"), want) })
			}
			r := record(t, p.pid, "--rung", rung, "-F", rate(rung))
			r.awaitSamples(p.pid)
			r.awaitCheckpoint("4.5 s are recorded", func(p *pprof.Profile) bool { return p.DurationNanos > 4500e6 })
			p.awaitProgress(5)
			s := r.stop()
			t.Logf("%+v", s)
			s.checkTicks(t, 6)
			// Each of the two threads in state D times out after two seconds, and once more at the end.
			if !s.failedOnlyAs("") || rung == "stop" && s.Failed["timeout"] < 4 {
				t.Errorf("failures %v, want timeout only, with --rung stop at least 4", s.Failed)
			}
			if s.Stopped == 0 {
				t.Error("no stop: the threads that cannot stop delayed those that run")
			}
			prof := r.profile()
			for name, state := range map[string]string{"fault": "sleeping", "copy": "disk", "vfork": "disk"} {
				n, states := samplesOf(prof, tids[name])
				t.Logf("%s: %d samples, %v", name, n, states)
				if rung == "auto" && (n+s.RanInBackoff < s.Ticks || len(states) != 1 || !states[state]) {
					t.Errorf("thread %s: %d samples, want one at each of %d ticks, states %v", name, n, s.Ticks,
						slices.Sorted(maps.Keys(states)))
				}
			}
			checkReleased(t, p.pid)
			if c := p.finish(); c["ended"] != 3 || c["wrong"] != 0 || c["eintr"] != 0 || c["expired"] == 0 || c["work"] == 0 {
				t.Errorf("the target's counts are %v, want 3 ended, wrong and eintr 0, expired and work above 0", c)
			}
		})
	}
}

func TestZombieThreadsAreCountedAndHoldNothingUp(t *testing.T) {
	t.Parallel()
	for _, rung := range testtargets.First(rungs) {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "zombies")
			r := record(t, p.pid, "--rung", rung, "-F", rate(rung))
			r.awaitSamples(p.pid)
			p.awaitProgress(5)
			s := r.stop()
			t.Logf("%+v", s)
			s.checkTicks(t, 6)
			if !s.failedOnlyAs("zombie") || s.Failed["zombie"] != 4*s.Ticks {
				t.Errorf("failures at %d ticks with 4 zombies are %v, want each as zombie", s.Ticks, s.Failed)
			}
			if s.Stopped == 0 || s.Samples == 0 {
				t.Errorf("no stops or no samples: %+v", s)
			}
			for _, tid := range threads(p.pid) {
				if tracer := status(tid, "TracerPid"); tracer != "0" && tracer != strconv.Itoa(p.cmd.Process.Pid) {
					t.Errorf("thread %d is traced by %s, want none or the target", tid, tracer)
				}
			}
			if c := p.finish(); c["reaped"] != 3 || c["ended"] != 5 || c["eintr"] != 0 || c["expired"] == 0 || c["work"] == 0 {
				t.Errorf("the target's counts are %v, want 3 reaped, 5 ended, eintr 0, expired and work above 0", c)
			}
		})
	}
}

type freezer struct {
	t                  *testing.T
	dir                string
	file, freeze, thaw string
	report, frozenLine string
	uninterruptible    bool
}

func freezers(t *testing.T) map[string]*freezer {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*freezer{}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		dir := filepath.Join(f[1], "prywalk-torture-"+strconv.Itoa(os.Getpid()))
		g := &freezer{t: t, dir: dir, file: "cgroup.freeze", freeze: "1", thaw: "0",
			report: "cgroup.events", frozenLine: "frozen 1"}
		if f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), "freezer") {
			g = &freezer{t, dir, "freezer.state", "FROZEN", "THAWED", "freezer.state", "FROZEN", true}
		} else if f[2] != "cgroup2" {
			continue
		}
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, g.file)); err != nil {
			_ = os.Remove(dir)
			continue
		}
		all[f[2]] = g
	}
	t.Cleanup(func() {
		for _, g := range all {
			g.set(g.thaw)
			await(t, "the control group is empty", func() bool { return os.Remove(g.dir) == nil })
		}
	})
	return all
}

func (g *freezer) write(file, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func (g *freezer) set(state string) { g.write(g.file, state) }

func (g *freezer) freezeAll() {
	g.t.Helper()
	g.set(g.freeze)
	await(g.t, "the control group is frozen", func() bool {
		text, _ := os.ReadFile(filepath.Join(g.dir, g.report))
		return strings.Contains(string(text), g.frozenLine)
	})
}

func TestStoppedControlGroupHoldsNothingUp(t *testing.T) {
	t.Parallel()
	testtargets.NeedRoot(t, "make a control group")
	groups := freezers(t)
	testtargets.Need(t, len(groups) > 0, "a control group that can be frozen", "a hierarchy that can be written")
	for version, g := range groups {
		for _, rung := range testtargets.First(rungs) {
			for _, when := range []string{"before", "during"} {
				t.Run(version+"/"+rung+"/"+when, func(t *testing.T) {
					g.t = t
					p := start(t, "mix", "4")
					g.write("cgroup.procs", strconv.Itoa(p.pid))
					s := recordStopped(t, g, p, rung, when == "before")
					t.Logf("%+v", s)
					checkReleased(t, p.pid)
					g.set(g.thaw)
					worked := cpu(p.pid)
					await(t, "the target runs again", func() bool { return cpu(p.pid) > worked })
					// Freezing a control group itself makes epoll_wait give EINTR, once in each of three threads.
					if c := p.finish(); c["eintr"] > 3 || c["woken"] != 0 || c["other"] != 0 {
						t.Errorf("the target's counts are %v, want eintr at most 3, woken and other 0", c)
					}
				})
			}
		}
	}
}

func recordStopped(t *testing.T, g *freezer, p *target, rung string, before bool) stats {
	t.Helper()
	if !before {
		r := record(t, p.pid, "--rung", rung)
		r.awaitSamples(p.pid)
		g.freezeAll()
		r.signal(syscall.SIGINT)
		code, s := r.wait(), r.statistics()
		// If the group is frozen before the first stop has ended, there are no samples.
		if early := s.Samples == 0 && rung == "stop" && g.uninterruptible; early && code != 4 || !early && code != 0 {
			t.Errorf("prywalk's exit code is %d (%d samples): %s", code, s.Samples, r.stderr.String())
		}
		s.checkTicks(t, 9)
		return s
	}
	g.freezeAll()
	stuck := rung == "stop" && g.uninterruptible
	r := record(t, p.pid, "-d", "3", "--rung", rung)
	if code := r.wait(); stuck && code != 4 || !stuck && code != 0 {
		t.Errorf("prywalk's exit code is %d, want 0, or 4 if no thread can stop: %s", code, r.stderr.String())
	}
	s := r.statistics()
	s.checkTicks(t, 9)
	switch {
	case stuck && (s.Failed["timeout"] < 9 || s.Failed["timeout"] > 18 || s.Stopped != 0):
		t.Errorf("want 9 to 18 time-outs and no stop of threads that cannot stop: %+v", s)
	case !stuck && (!s.failedOnlyAs("") || s.Samples == 0):
		t.Errorf("no samples, or failures other than time-outs: %+v", s)
	case rung == "auto" && (s.Stopped != 0 || s.failures() != 0):
		t.Errorf("stops or failures of threads that do not run: %+v", s)
	}
	return s
}
