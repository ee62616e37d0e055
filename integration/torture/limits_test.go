// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func cpu(pid int) int {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return user + system
}

func asleep(pid int) (n int) {
	for _, tid := range threads(pid) {
		if status(tid, "Name") == "sleeper" && strings.HasPrefix(status(tid, "State"), "S") {
			n++
		}
	}
	return n
}

func TestThousandsOfSleepingThreadsAreNotWoken(t *testing.T) {
	n := testtargets.Times(1000, 2000)
	if long {
		n = 5000
	}
	p := start(t, "mix", strconv.Itoa(n))
	await(t, "all sleepers are asleep", func() bool { return asleep(p.pid) == n })
	before := map[int]int{}
	for _, tid := range threads(p.pid) {
		before[tid] = runCount(tid)
	}
	r := record(t, p.pid)
	r.awaitSamples(p.pid)
	r.awaitCheckpoint("every thread has a sample", sampledAll(threads(p.pid)))
	p.awaitProgress(5)
	s := r.stop()
	t.Logf("%+v", s)
	s.checkTicks(t, int64(n)+5)
	// Only threads that run are stopped: one computes, three sleep for moments, and the first one answers the test.
	untouched := 0
	for tid, at := range before {
		if runCount(tid) == at {
			untouched++
		}
	}
	if untouched < n || s.Stopped > 5*s.Ticks || s.Stopped == 0 || s.ReadPassively < int64(n) || s.Restarted > s.Stopped {
		t.Errorf("%d of %d sleepers did not run, want all; %+v", untouched, n, s)
	}
	r = record(t, p.pid, "--rung", "stop")
	r.awaitCheckpoint("one thread has a sample", func(p *pprof.Profile) bool { return len(p.Sample) > 0 })
	s = r.stop()
	t.Logf("%+v", s)
	if s.Stopped == 0 {
		t.Errorf("no stop though all were forced: %+v", s)
	}
	checkReleased(t, p.pid)
	checkMix(t, p)
}

func TestTargetAtItsDescriptorLimitIsSampled(t *testing.T) {
	p := start(t, "mix", "4", "files")
	if s := p.recordMix(); s.Samples == 0 {
		t.Errorf("no samples: %+v", s)
	}
}

func prepareLimited(t *testing.T, limit string, args ...string) *recorder {
	t.Helper()
	r := prepare(t, nil, args...)
	r.cmd.Args = append([]string{"sh", "-c", limit + ` && exec "$0" "$@"`, binary}, r.cmd.Args[1:]...)
	r.cmd.Path = "/bin/sh"
	return r
}

func TestProfilerAtItsDescriptorLimitSamplesEveryThread(t *testing.T) {
	p := start(t, "mix", "200")
	r := prepareLimited(t, "ulimit -n 64", "-p", strconv.Itoa(p.pid))
	r.start()
	awaitStop(t, p.pid)
	r.awaitCheckpoint("every thread has a sample", sampledAll(threads(p.pid)))
	p.awaitProgress(5)
	s := r.stop()
	s.checkTicks(t, 205)
	if !s.failedOnlyAs("") || s.ReadPassively < 203 || s.Stopped == 0 {
		t.Errorf("want stops, passive reads of 203 threads, no failures but time-outs: %+v", s)
	}
	prof := r.profile()
	for _, tid := range threads(p.pid) {
		if n, _ := samplesOf(prof, tid); n == 0 {
			t.Errorf("thread %d has no sample", tid)
		}
	}
	checkReleased(t, p.pid)
	checkMix(t, p)
}

func TestProfilerOutOfMemoryReleasesEveryThread(t *testing.T) {
	p := start(t, "mix", "300")
	for _, kilobytes := range []int{40_000, 100_000, 200_000, 400_000, 1_300_000} {
		r := prepareLimited(t, "ulimit -v "+strconv.Itoa(kilobytes), "-p", strconv.Itoa(p.pid), "-d", "1")
		r.start()
		code := r.wait()
		t.Logf("%d KB: exit code %d, %.80q", kilobytes, code, r.stderr.String())
		checkReleased(t, p.pid)
	}
	checkMix(t, p)
}

func TestProfilerOutOfDisk(t *testing.T) {
	p := start(t, "mix", "300")
	small := prepareLimited(t, "ulimit -f 4", "-p", strconv.Itoa(p.pid))
	small.start()
	small.awaitSamples(p.pid)
	small.signal(syscall.SIGUSR1)
	p.awaitProgress(5)
	select {
	case <-small.ended:
		t.Error("the failed checkpoint ended the recording")
	default:
	}
	small.signal(syscall.SIGINT)
	if code := small.wait(); code != 1 {
		t.Errorf("exit code at a file size limit of 2 KB is %d, want 1: %s", code, small.stderr.String())
	}
	checkReleased(t, p.pid)
	if os.Geteuid() == 0 {
		outOfDisk(t, p)
	}
	checkMix(t, p)
}

func outOfDisk(t *testing.T, p *target) {
	t.Helper()
	r := prepare(t, nil, "-p", strconv.Itoa(p.pid), "-d", "1")
	if out, err := bounded.AllOutput(exec.Command("mount", "-t", "tmpfs", "-o", "size=4k", "torture", r.dir)); err != nil {
		t.Logf("cannot mount a small file system (a container?): %v %s", err, out)
		return
	}
	defer func() { _ = syscall.Unmount(r.dir, syscall.MNT_DETACH) }()
	r.start()
	if code := r.wait(); code != 1 {
		t.Errorf("exit code on a full disk is %d, want 1: %s", code, r.stderr.String())
	}
	checkReleased(t, p.pid)
}
