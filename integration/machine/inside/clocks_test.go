// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"
)

// rights are all that decides how a process is sampled.
var rights = []struct {
	paranoid string
	uid      int
	engine   string // "": either, by whether the kernel's copies of the stacks are long enough
	fact     string
}{
	{"3", nobody, "ptrace", "engine of a user at 3"},
	{"2", nobody, "", "engine of a user at 2"},
	{"3", 0, "perf", "engine of root"},
}

func TestEngineFollowsTheParanoidLevel(t *testing.T) {
	onKernels(t)
	sysctl(t, yama, "0")
	p := startAs(t, nobody, "chain")
	for _, r := range rights {
		t.Run(r.fact, func(t *testing.T) {
			sysctl(t, paranoid, r.paranoid)
			s := sleepersAreRight(t, r.uid, p.pid)
			fact(r.fact, s.Engine)
			if r.engine != "" && s.Engine != r.engine {
				t.Errorf("engine %s (%s), want %s", s.Engine, s.Note, r.engine)
			}
			if r.engine == "ptrace" {
				runAs(t, r.uid, "record", "-p", strconv.Itoa(p.pid), "--engine", "perf", "-d", "1").must(t, 3)
			}
		})
	}
}

// The kernel books a running thread's time at its own ticks, which come late where the host gives a processor no time:
// on a busy host this test can fail.
func TestClocksAddUp(t *testing.T) {
	onKernels(t)
	sysctl(t, yama, "0")
	p := startAs(t, nobody, "chain")
	for _, r := range rights {
		t.Run(r.fact, func(t *testing.T) {
			sysctl(t, paranoid, r.paranoid)
			_, s := recordedAs(t, r.uid, p.pid, 4)
			if off := s.Profiled - s.Kernel; s.Kernel <= 0 || off > 0.05*s.Kernel || -off > 0.05*s.Kernel {
				t.Errorf("%.3f s of CPU time in the profile, %.3f s by the kernel", s.Profiled, s.Kernel)
			}
		})
	}
}

// statistics are of record --stats.
type statistics struct {
	Engine    string         `json:"engine"`
	Note      string         `json:"engine_note"`
	Kernel    float64        `json:"cpu_target_s"`
	Profiled  float64        `json:"cpu_profiled_s"`
	Failed    map[string]int `json:"failed"`
	Attempted int            `json:"attempted"`
	Stopped   int            `json:"stopped"`
	Passive   int            `json:"read_passively"`
	Unchanged int            `json:"unchanged"`
}

// recordedAs returns the file of a recording by a user, and its statistics.
func recordedAs(t *testing.T, uid, pid, seconds int) (file string, s *statistics) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "recorded")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	file, statsFile := filepath.Join(dir, "p.pb.gz"), filepath.Join(dir, "stats.json")
	args := []string{"record", "-p", strconv.Itoa(pid), "-d", strconv.Itoa(seconds), "-F", "49", "--no-kernel", "-o", file,
		"--stats", statsFile}
	runAs(t, uid, append(args, noLimits...)...).must(t, 0)
	text, err := os.ReadFile(statsFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, n := range s.Failed {
		failed += n
	}
	if s.Attempted != s.Stopped+s.Passive+s.Unchanged+failed {
		t.Errorf("the accounts do not add up: %s", text)
	}
	return file, s
}

var sleptIn = map[string]string{"nap": "clock_nanosleep", "read": "read", "epoll": "epoll_wait", "wait": "futex"}

// sleepersAreRight records a chain program, until the waits of all sleepers were seen: states, waits and stacks of all
// threads are known.
func sleepersAreRight(t *testing.T, uid, pid int) *statistics {
	t.Helper()
	for seconds := 4; ; seconds *= 4 {
		file, s := recordedAs(t, uid, pid, seconds)
		prof := parsed(t, file)
		checkSamples(t, prof)
		seen := checkSleepers(t, prof)
		if len(seen) < len(sleptIn) {
			if seconds < longest {
				continue
			}
			t.Errorf("sleepers were seen in %v only", seen)
		}
		runAs(t, uid, "report", "--json", file).must(t, 0, `"main"`, `"nap_inner"`)
		runAs(t, uid, "report", file).must(t, 0, "main")
		return s
	}
}

// checkSleepers returns the calls in which the sleepers were seen.
func checkSleepers(t *testing.T, prof *profile.Profile) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range prof.Sample {
		want, sleeps := sleptIn[label(s, "thread")]
		if state := label(s, "state"); sleeps && (state != "sleeping" || s.Value[3] != 0) {
			t.Errorf("thread %s: state %s, %d ns of CPU time; it sleeps", label(s, "thread"), state, s.Value[3])
		}
		// Of the time before the first sample, the call is not known.
		if wait := label(s, "wait"); sleeps && wait == want {
			seen[want] = true
		} else if sleeps && wait != "" {
			t.Errorf("thread %s sleeps in %q, want %s", label(s, "thread"), wait, want)
		}
	}
	return seen
}

func parsed(t *testing.T, file string) *profile.Profile {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
