// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// right is all that decides how a process is sampled.
type right struct {
	paranoid string
	uid      int
	engine   string // "": either, by whether the kernel's copies of the stacks are long enough
	fact     string
}

// withRights runs a check of a chain program with each right.
func withRights(t *testing.T, check func(t *testing.T, r *right, pid int)) {
	t.Helper()
	onKernels(t)
	sysctl(t, yama, "0")
	p := startAs(t, nobody, "chain")
	for _, r := range []right{
		{"3", nobody, "ptrace", "engine of a user at 3"},
		{"2", nobody, "", "engine of a user at 2"},
		{"3", 0, "perf", "engine of root"},
	} {
		t.Run(r.fact, func(t *testing.T) {
			sysctl(t, paranoid, r.paranoid)
			check(t, &r, p.pid)
		})
	}
}

func TestEngineFollowsTheParanoidLevel(t *testing.T) {
	withRights(t, func(t *testing.T, r *right, pid int) {
		s := sleepersAreRight(t, r.uid, pid)
		fact(r.fact, s.Engine)
		if r.engine != "" && s.Engine != r.engine {
			t.Errorf("engine %s (%s), want %s", s.Engine, s.EngineNote, r.engine)
		}
		if r.engine == "ptrace" {
			runAs(t, r.uid, "record", "-p", strconv.Itoa(pid), "--engine", "perf", "-d", "1").must(t, 3)
		}
	})
}

// The kernel books a running thread's time at its own ticks, which come late where the host gives a processor no time.
// The clocks of a program that is stopped are exact: it runs only between the recording's first checkpoint and a stop
// before its end.
func TestClocksAddUp(t *testing.T) {
	withRights(t, func(t *testing.T, r *right, pid int) {
		halt(t, pid)
		defer syscall.Kill(pid, syscall.SIGCONT)
		dir := commonDir(t)
		file, statsFile := filepath.Join(dir, "p.pb.gz"), filepath.Join(dir, "stats.json")
		cmd := exec.Command(program(t, "prywalk"), slices.Concat([]string{"record", "-p", strconv.Itoa(pid), "-F", "49",
			"--no-kernel", "-o", file, "--stats", statsFile}, noLimits)...)
		cmd.SysProcAttr = asUser(r.uid)
		var errs testtargets.Lines
		cmd.Stderr, cmd.Dir = &errs, "/tmp"
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		t.Cleanup(func() { cmd.Process.Kill() })
		testtargets.Eventually(t, "prywalk writes a checkpoint", func() bool {
			_, err := os.Stat(file)
			return err == nil
		})
		before := cpuOf(t, pid)
		syscall.Kill(pid, syscall.SIGCONT)
		testtargets.Eventually(t, "the program runs for a second", func() bool { return cpuOf(t, pid) > before+1 })
		halt(t, pid)
		ran := cpuOf(t, pid) - before
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := bounded.Receive(t, "prywalk's end", ended); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		s := readStatistics(t, statsFile)
		// Stops of the stopped program take CPU time, too: the kernel's is not less than what the test saw it run.
		const rounding = 1e-6
		if math.Abs(s.ProfiledCPU-s.TargetCPU) > rounding || s.TargetCPU < ran-rounding {
			t.Errorf("%v s of CPU time in the profile, %v s by the kernel as prywalk read it, at least %v s as the test did",
				s.ProfiledCPU, s.TargetCPU, ran)
		}
	})
}

// halt stops a process, and waits until none of its threads is on a processor.
func halt(t *testing.T, pid int) {
	t.Helper()
	syscall.Kill(pid, syscall.SIGSTOP)
	testtargets.Eventually(t, "the program is stopped", func() bool { return allIn(pid, "T") })
}

// cpuOf is the process's CPU time, in seconds.
func cpuOf(t *testing.T, pid int) float64 {
	t.Helper()
	ns, err := procmem.ProcessCPU(pid)
	if err != nil {
		t.Fatal(err)
	}
	return float64(ns) / 1e9
}

// statistics are some of record --stats.
type statistics struct {
	runstats.Observations
	runstats.Observed
	runstats.Unobserved
	runstats.Walks
	runstats.CPU
}

func readStatistics(t *testing.T, file string) *statistics {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &statistics{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	if failed := runstats.Sum(s.Failed); s.Attempted != s.Stops+s.PassiveReads+s.Unchanged+failed {
		t.Errorf("the accounts do not add up: %s", text)
	}
	return s
}

// commonDir makes a directory in which every user may write.
func commonDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "recorded")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recordedAs returns the file of a recording by a user, and its statistics.
func recordedAs(t *testing.T, uid, pid, seconds int) (file string, s *statistics) {
	t.Helper()
	dir := commonDir(t)
	file, statsFile := filepath.Join(dir, "p.pb.gz"), filepath.Join(dir, "stats.json")
	args := []string{"record", "-p", strconv.Itoa(pid), "-d", strconv.Itoa(seconds), "-F", "49", "--no-kernel", "-o", file,
		"--stats", statsFile}
	runAs(t, uid, append(args, noLimits...)...).must(t, 0)
	return file, readStatistics(t, statsFile)
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
