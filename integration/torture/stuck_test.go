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
)

// patience bounds how long tests wait for what must come. How soon it comes is up to the machine.
const patience = 4 * time.Minute

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func (p *target) named() map[string]int {
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

// rate gives how often a rung may look at targets whose calls are to time out after 5 ms. Each freeze restarts an
// epoll_wait's time-out (docs/system-calls.md), so that one that falls due every millisecond keeps it from
// ever ending, unless five are missed in a row.
func rate(rung string) string {
	if rung == "freeze" {
		return "100"
	}
	return "1000"
}

func TestThreadsThatCannotStopHoldNothingUp(t *testing.T) {
	needRoot(t) // faults of the kernel's are held open for root only
	for _, rung := range rungs {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "stuck")
			tids := p.named()
			for name, want := range map[string]string{"fault": "S", "copy": "D", "vfork": "D"} {
				await(t, name+" in state "+want, func() bool { return strings.HasPrefix(status(tids[name], "State"), want) })
			}
			r := record(t, p.pid, "--rung", rung, "-F", rate(rung))
			r.awaitSamples(p.pid)
			// So that looks are given up: each was waited for for two seconds, by a prywalk that may itself
			// have waited for a processor.
			r.until("four seconds are over", func(p *pprof.Profile) bool { return p.DurationNanos > 4500e6 })
			p.works(5)
			s := r.stop()
			t.Logf("%+v", s)
			s.complete(t, 6)
			// Forced to be frozen, each of the two in state D is given up after two seconds and once
			// more at the end. By the ladder they are seen at each tick, as is checked below.
			if !s.queuedOnly("") || rung == "freeze" && s.Failed["timeout"] < 4 {
				t.Errorf("failed: %v", s.Failed)
			}
			if s.Frozen == 0 {
				t.Error("nobody was frozen: those that run were held up")
			}
			prof := r.profile()
			for name, state := range map[string]string{"fault": "sleeping", "copy": "disk", "vfork": "disk"} {
				n, states := samplesOf(prof, tids[name])
				t.Logf("%s: %d samples, %v", name, n, states)
				if rung == "ladder" && (n+s.Unseen < s.Ticks || len(states) != 1 || !states[state]) {
					t.Errorf("%s: %d samples of %d ticks, states %v", name, n, s.Ticks, slices.Sorted(maps.Keys(states)))
				}
			}
			unharmed(t, p.pid)
			if c := p.verdict(); c["ended"] != 3 || c["wrong"] != 0 || c["eintr"] != 0 || c["expired"] == 0 || c["work"] == 0 {
				t.Errorf("the target saw %v", c)
			}
		})
	}
}

func TestZombieThreadsAreCountedAndHoldNothingUp(t *testing.T) {
	for _, rung := range rungs {
		t.Run(rung, func(t *testing.T) {
			p := start(t, "zombies")
			r := record(t, p.pid, "--rung", rung, "-F", rate(rung))
			r.awaitSamples(p.pid)
			p.works(5)
			s := r.stop()
			t.Logf("%+v", s)
			s.complete(t, 6)
			if !s.queuedOnly("zombie") || s.Failed["zombie"] != 4*s.Ticks {
				t.Errorf("failed at %d ticks with 4 zombies: %v", s.Ticks, s.Failed)
			}
			if s.Frozen == 0 || s.Samples == 0 {
				t.Errorf("%+v", s)
			}
			for _, tid := range threads(p.pid) { // the zombies are their own tracer's
				if tracer := status(tid, "TracerPid"); tracer != "0" && tracer != strconv.Itoa(p.cmd.Process.Pid) {
					t.Errorf("thread %d is traced by %s", tid, tracer)
				}
			}
			if c := p.verdict(); c["reaped"] != 3 || c["ended"] != 5 || c["eintr"] != 0 || c["expired"] == 0 || c["work"] == 0 {
				t.Errorf("the target saw %v", c)
			}
		})
	}
}

type freezer struct {
	t                  *testing.T
	dir                string
	file, freeze, thaw string
	report, is         string // the file that says so, and the line
	uninterruptible    bool   // its tasks are in state D then
}

// freezers makes a control group in each hierarchy that has a freezer and lets itself be written.
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
		g := &freezer{t: t, dir: dir, file: "cgroup.freeze", freeze: "1", thaw: "0", report: "cgroup.events", is: "frozen 1"}
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
		return strings.Contains(string(text), g.is)
	})
}

func TestStoppedControlGroupHoldsNothingUp(t *testing.T) {
	needRoot(t)
	groups := freezers(t)
	if len(groups) == 0 {
		t.Skip("no control group can be made here")
	}
	for version, g := range groups {
		for _, rung := range rungs {
			for _, when := range []string{"before", "during"} {
				t.Run(version+"/"+rung+"/"+when, func(t *testing.T) {
					g.t = t
					p := start(t, "mix", "4")
					g.write("cgroup.procs", strconv.Itoa(p.pid))
					s := recordStopped(t, g, p, rung, when == "before")
					t.Logf("%+v", s)
					unharmed(t, p.pid)
					g.set(g.thaw)
					worked := cpu(p.pid)
					await(t, "the target runs on", func() bool { return cpu(p.pid) > worked })
					// Freezing a control group itself ends an epoll_wait with EINTR, once in each of
					// three threads.
					if c := p.verdict(); c["eintr"] > 3 || c["woken"] != 0 || c["other"] != 0 {
						t.Errorf("the target saw %v", c)
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
		// The group can be frozen before any of its threads has stopped for its first look: then there are no samples.
		if early := s.Samples == 0 && rung == "freeze" && g.uninterruptible; early && code != 4 || !early && code != 0 {
			t.Errorf("prywalk ended with %d: %s", code, r.stderr.String())
		}
		s.complete(t, 9)
		return s
	}
	g.freezeAll()
	stuck := rung == "freeze" && g.uninterruptible
	r := record(t, p.pid, "-d", "3", "--rung", rung)
	if code := r.wait(); stuck && code != 4 || !stuck && code != 0 {
		t.Errorf("prywalk ended with %d: %s", code, r.stderr.String())
	}
	s := r.statistics()
	s.complete(t, 9)
	switch {
	case stuck && (s.Failed["timeout"] < 9 || s.Failed["timeout"] > 18 || s.Frozen != 0):
		t.Errorf("threads that cannot stop: %+v", s)
	case !stuck && (!s.queuedOnly("") || s.Samples == 0):
		t.Errorf("%+v", s)
	case rung == "ladder" && (s.Frozen != 0 || s.failures() != 0):
		t.Errorf("frozen or failed, though they do not run: %+v", s)
	}
	return s
}
