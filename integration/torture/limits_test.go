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

// asleep counts the sleepers of src/mix.c that have fallen asleep. Threads of other kinds sleep for moments.
func asleep(pid int) (n int) {
	for _, tid := range threads(pid) {
		if status(tid, "Name") == "sleeper" && strings.HasPrefix(status(tid, "State"), "S") {
			n++
		}
	}
	return n
}

func TestThousandsOfThreads(t *testing.T) {
	n := 2000
	if long {
		n = 5000
	}
	p := start(t, "mix", strconv.Itoa(n))
	await(t, "those that sleep have fallen asleep", func() bool { return asleep(p.pid) == n })
	before := map[int]int{}
	for _, tid := range threads(p.pid) {
		before[tid] = arrivals(tid)
	}
	r := record(t, p.pid)
	r.awaitSamples(p.pid)
	r.until("everybody is looked at", everybody(threads(p.pid)))
	p.works(5)
	s := r.stop()
	t.Logf("%+v", s)
	s.complete(t, int64(n)+5)
	// Stops follow the threads that run: one computes, three sleep for moments, and the first one answers
	// the test. By the kernel's count the others have not been on a processor at all.
	untouched := 0
	for tid, at := range before {
		if arrivals(tid) == at {
			untouched++
		}
	}
	if untouched < n || s.Frozen > 5*s.Ticks || s.Frozen == 0 || s.Peeked < int64(n) || s.Restarted > s.Frozen {
		t.Errorf("%d of %d sleepers were not touched; %+v", untouched, n, s)
	}
	r = record(t, p.pid, "--rung", "freeze")
	r.until("one is frozen", func(p *pprof.Profile) bool { return len(p.Sample) > 0 })
	s = r.stop()
	t.Logf("%+v", s)
	if s.Frozen == 0 {
		t.Errorf("%+v", s)
	}
	unharmed(t, p.pid)
	checkMix(t, p)
}

func TestTargetAtItsDescriptorLimit(t *testing.T) {
	p := start(t, "mix", "4", "files")
	if s := p.sampled(); s.Samples == 0 {
		t.Errorf("%+v", s)
	}
}

func limited(t *testing.T, limit string, args ...string) *recorder {
	t.Helper()
	r := prepare(t, nil, args...)
	r.cmd.Args = append([]string{"sh", "-c", limit + ` && exec "$0" "$@"`, binary}, r.cmd.Args[1:]...)
	r.cmd.Path = "/bin/sh"
	return r
}

func TestProfilerAtItsDescriptorLimit(t *testing.T) {
	p := start(t, "mix", "200")
	r := limited(t, "ulimit -n 64", "-p", strconv.Itoa(p.pid))
	r.start()
	awaitStop(t, p.pid)
	r.until("everybody is looked at", everybody(threads(p.pid)))
	p.works(5)
	s := r.stop()
	s.complete(t, 205)
	if !s.queuedOnly("") || s.Peeked < 203 || s.Frozen == 0 {
		t.Errorf("%+v", s)
	}
	prof := r.profile()
	for _, tid := range threads(p.pid) {
		if n, _ := samplesOf(prof, tid); n == 0 {
			t.Errorf("thread %d was never looked at", tid)
		}
	}
	unharmed(t, p.pid)
	checkMix(t, p)
}

func TestProfilerOutOfMemory(t *testing.T) {
	p := start(t, "mix", "300")
	for _, kilobytes := range []int{40_000, 100_000, 200_000, 400_000, 1_300_000} {
		r := limited(t, "ulimit -v "+strconv.Itoa(kilobytes), "-p", strconv.Itoa(p.pid), "-d", "1")
		r.start()
		code := r.wait()
		t.Logf("%d KB: exit code %d, %.80q", kilobytes, code, r.stderr.String())
		unharmed(t, p.pid)
	}
	checkMix(t, p)
}

func TestProfilerOutOfDisk(t *testing.T) {
	p := start(t, "mix", "300")
	small := limited(t, "ulimit -f 4", "-p", strconv.Itoa(p.pid))
	small.start()
	small.awaitSamples(p.pid)
	small.signal(syscall.SIGUSR1) // a checkpoint that fails must not end the recording
	p.works(5)
	select {
	case <-small.ended:
		t.Error("a checkpoint that failed ended the recording")
	default:
	}
	small.signal(syscall.SIGINT)
	if code := small.wait(); code != 1 {
		t.Errorf("over its limit prywalk ended with %d: %s", code, small.stderr.String())
	}
	unharmed(t, p.pid)
	if os.Geteuid() == 0 {
		outOfDisk(t, p)
	}
	checkMix(t, p)
}

func outOfDisk(t *testing.T, p *target) {
	t.Helper()
	r := prepare(t, nil, "-p", strconv.Itoa(p.pid), "-d", "1")
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4k", "torture", r.dir).CombinedOutput(); err != nil {
		t.Logf("no small file system here: %v %s", err, out) // a container without that right; the limit above stands for it
		return
	}
	defer func() { _ = syscall.Unmount(r.dir, syscall.MNT_DETACH) }()
	r.start()
	if code := r.wait(); code != 1 {
		t.Errorf("on a full disk prywalk ended with %d: %s", code, r.stderr.String())
	}
	unharmed(t, p.pid)
}
