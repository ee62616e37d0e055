// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/integration/checkpoint"
	"prywalk/internal/testtargets/bounded"

	pprof "github.com/google/pprof/profile"
)

type stats struct {
	Ticks           int64            `json:"ticks"`
	Inferred        int64            `json:"inferred"`
	RanInBackoff    int64            `json:"ran_in_backoff"`
	LeftToLaterTick int64            `json:"left_to_later_tick"`
	Attempted       int64            `json:"attempted"`
	Stopped         int64            `json:"stopped"`
	ReadPassively   int64            `json:"read_passively"`
	Unchanged       int64            `json:"unchanged"`
	Restarted       int64            `json:"syscalls_restarted"`
	Broken          int64            `json:"syscalls_broken"`
	Failed          map[string]int64 `json:"failed"`
	Samples         int64            `json:"samples"`
	Threads         int64            `json:"threads_max"`
	ReportedTwice   int64            `json:"syscalls_reported_twice"`
	Seconds         float64          `json:"duration_s"`
}

func (s *stats) failures() (n int64) {
	for _, v := range s.Failed {
		n += v
	}
	return n
}

// failedOnlyAs leaves out the reasons that depend on when the host schedules a thread, or the holder of its mappings'
// lock.
func (s *stats) failedOnlyAs(but string) bool {
	n := s.failures() - s.Failed["timeout"] - s.Failed["map-lock"]
	return but == "" && n == 0 || but != "" && n == s.Failed[but]
}

func (s *stats) checkTicks(t *testing.T, threads int64) {
	t.Helper()
	if s.Attempted != s.Stopped+s.ReadPassively+s.Unchanged+s.failures() {
		t.Errorf("stops, passive reads, unchanged and failed do not add up to the observations: %+v", *s)
	}
	got := s.Attempted + s.LeftToLaterTick + s.Inferred + s.RanInBackoff
	if got != threads*s.Ticks || s.Threads != threads {
		t.Errorf("%d observations and other ticks, want %d threads times %d ticks: %+v", got, threads, s.Ticks, *s)
	}
}

type recorder struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr bytes.Buffer
	dir    string
	file   string
	ended  chan struct{}
	err    error
}

func record(t *testing.T, pid int, args ...string) *recorder {
	t.Helper()
	return recordAs(t, nil, append([]string{"-p", strconv.Itoa(pid)}, args...)...)
}

func recordAs(t *testing.T, attr *syscall.SysProcAttr, args ...string) *recorder {
	t.Helper()
	r := prepare(t, attr, args...)
	r.start()
	return r
}

func prepare(t *testing.T, attr *syscall.SysProcAttr, args ...string) *recorder {
	t.Helper()
	dir, err := os.MkdirTemp(work, "record-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r := &recorder{t: t, dir: dir, file: filepath.Join(dir, "r.pb.gz"), ended: make(chan struct{})}
	// Without limits, so that each thread is observed at each tick.
	all := append([]string{"record", "--engine", "ptrace", "--max-overhead", "off", "--max-pause", "off", "-F", "1000",
		"-o", r.file, "--stats", filepath.Join(dir, "stats.json")}, args...)
	r.cmd = exec.Command(binary, all...)
	r.cmd.Stderr, r.cmd.SysProcAttr = &r.stderr, attr
	r.cmd.Env = append(os.Environ(), "NO_COLOR=1", "HOME="+dir)
	return r
}

func (r *recorder) start() {
	r.t.Helper()
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	r.t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		bounded.Receive(r.t, "the killed prywalk ends", r.ended)
	})
}

func (r *recorder) signal(s syscall.Signal) { _ = r.cmd.Process.Signal(s) }

func (r *recorder) wait() int {
	r.t.Helper()
	for used, since := cpu(r.cmd.Process.Pid), time.Now(); ; {
		select {
		case <-r.ended:
		case <-time.After(time.Second):
			// A busy process may take long; one that waits forever uses no CPU time.
			if now := cpu(r.cmd.Process.Pid); now != used {
				used, since = now, time.Now()
			}
			if time.Since(since) > patience {
				r.t.Fatalf("prywalk has not ended and uses no CPU time: %s\n%s", describeThreads(r.cmd.Process.Pid),
					r.stderr.String())
			}
			continue
		}
		break
	}
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		r.t.Fatal(r.err)
	}
	return r.cmd.ProcessState.ExitCode()
}

func (r *recorder) stop() stats {
	r.t.Helper()
	r.signal(syscall.SIGINT)
	return r.result()
}

func (r *recorder) result() (s stats) {
	r.t.Helper()
	if code := r.wait(); code != 0 {
		r.t.Errorf("prywalk's exit code is %d, want 0: %s", code, r.stderr.String())
	}
	return r.statistics()
}

func (r *recorder) statistics() (s stats) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "stats.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		r.t.Errorf("stats.json: %v; standard error: %s", err, r.stderr.String())
	}
	return s
}

func (r *recorder) checkReport() {
	r.t.Helper()
	if out, err := bounded.AllOutput(exec.Command(binary, "report", r.file)); err != nil {
		r.t.Errorf("prywalk report of the recording: %v: %s", err, strings.TrimSpace(string(out)))
	}
}

func (r *recorder) profile() *pprof.Profile {
	r.t.Helper()
	file, err := os.Open(r.file)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	p, err := pprof.Parse(file)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func samplesOf(p *pprof.Profile, tid int) (n int64, states map[string]bool) {
	states = map[string]bool{}
	for _, s := range p.Sample {
		if ids := s.NumLabel["tid"]; len(ids) == 1 && ids[0] == int64(tid) {
			n += s.Value[0]
			states[strings.Join(s.Label["state"], ",")] = true
		}
	}
	return n, states
}

func (r *recorder) awaitCheckpoint(what string, holds func(*pprof.Profile) bool) {
	r.t.Helper()
	follower := checkpoint.Follow(r.cmd.Process, r.file)
	await(r.t, what, func() bool {
		if follower.New() && holds(r.profile()) {
			return true
		}
		select {
		case <-r.ended:
			r.t.Fatalf("prywalk has ended before %s: %s", what, r.stderr.String())
		default:
		}
		return false
	})
}

func sampledAll(tids []int) func(*pprof.Profile) bool {
	return func(p *pprof.Profile) bool {
		seen := map[int64]bool{}
		for _, s := range p.Sample {
			for _, tid := range s.NumLabel["tid"] {
				seen[tid] = true
			}
		}
		return !slices.ContainsFunc(tids, func(tid int) bool { return !seen[int64(tid)] })
	}
}

func sampledRunningAndSleeping(p *pprof.Profile) bool {
	states := map[string]bool{}
	for _, s := range p.Sample {
		states[strings.Join(s.Label["state"], ",")] = true
	}
	return states["running"] && states["sleeping"]
}

func (r *recorder) awaitSamples(pid int) {
	r.t.Helper()
	want := "/proc/" + strconv.Itoa(pid) + "/task/"
	fds := filepath.Join("/proc", strconv.Itoa(r.cmd.Process.Pid), "fd")
	await(r.t, "prywalk has opened a file below /proc of the target", func() bool {
		entries, _ := os.ReadDir(fds)
		for _, e := range entries {
			if to, _ := os.Readlink(filepath.Join(fds, e.Name())); strings.HasPrefix(to, want) {
				return true
			}
		}
		select {
		case <-r.ended:
			r.t.Fatalf("prywalk has ended before it opened a file of the target: %s", r.stderr.String())
		default:
		}
		return false
	})
}
