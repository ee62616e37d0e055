// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestWrongUsageExitsWithTwo(t *testing.T) {
	for _, args := range [][]string{
		{"record"},
		{"record", "-p", "abc"},
		{"record", "-p", "0"},
		{"record", "-p", "-5"},
		{"record", "-p", "1,,2"},
		{"record", "-p", "99999999999999999999"},
		{"record", "-p", "1", "--", "true"},
		{"record", "-F", "0", "-p", "1"},
		{"record", "-F", "-1", "-p", "1"},
		{"record", "-F", "10001", "-p", "1"},
		{"record", "-F", "fast", "-p", "1"},
		{"record", "-r", "10001", "-p", "1"},
		{"record", "-d", "0", "-p", "1"},
		{"record", "-d", "-3", "-p", "1"},
		{"record", "-d", "soon", "-p", "1"},
		{"record", "-d", "NaN", "-p", "1"},
		{"record", "-d", "1e300", "-p", "1"},
		{"record", "--threads", "(", "-p", "1"},
		{"record", "--max-depth", "-7", "-p", "1"},
		{"record", "--max-overhead", "much", "-p", "1"},
		{"record", "--max-pause", "much", "-p", "1"},
		{"record", "--engine", "steam", "-p", "1"},
		{"record", "--engine", "perf", "--subset", "2", "-p", "1"},
		{"record", "--engine", "perf", "--rung", "stop", "-p", "1"},
		{"record", "-o", "-", "--", "true"},
		{"record", "--no-such-flag", "-p", "1"},
		{"record", "-p", "1", "stray"},
		{"dump"},
		{"dump", "-p", "x"},
		{"report", "--by", "beauty", "/dev/null"},
		{"no-such-command"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			prywalk(t, args...).must(t, 2).oneLine(t)
		})
	}
}

func gone(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("true")
	if err := bounded.Run(cmd); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(cmd.Process.Pid)
}

func TestAbsentProcessIsRefused(t *testing.T) {
	pid := gone(t)
	prywalk(t, "record", "-d", "1", "-p", pid).must(t, 1).oneLine(t, pid, "no such process")
	prywalk(t, "dump", "-p", pid).must(t, 1).oneLine(t, pid, "no such process")
}

func TestThreadIDGivenAsPIDIsRefused(t *testing.T) {
	target := testtargets.Run(t, "c", testtargets.Options{})
	tids := threadsOf(target.PID)
	// ps lists PIDs by their digits, and PIDs wrap around: the first thread can be any of them.
	other := slices.IndexFunc(tids, func(tid int) bool { return tid != target.PID })
	tid := strconv.Itoa(tids[other])
	r := prywalk(t, "record", "-d", "1", "-p", tid).must(t, 1)
	r.oneLine(t, tid, "thread", strconv.Itoa(target.PID))
}

func TestZombie(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	eventually(t, "the child is a zombie", func() bool { return stateOf(cmd.Process.Pid) == "Z" })
	pid := strconv.Itoa(cmd.Process.Pid)
	prywalk(t, "record", "-d", "1", "-p", pid).must(t, 1).oneLine(t, pid, "zombie")
}

// The kernel shows no command line, program or memory of a first thread that has ended, and refuses to seize it.
func TestProcessWithoutItsFirstThreadIsFoundAndRead(t *testing.T) {
	threads, err := testtargets.Compile("threads.c")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("headless%d", os.Getpid()%1000000)
	cmd := exec.Command("bash", "-c", `exec -a "$1" "$2" leaderless`, "sh", name, threads)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "the first thread has ended and the other computes", func() bool {
		cpu, err := cpuOf(cmd.Process.Pid)
		return stateOf(cmd.Process.Pid) == "Z" && err == nil && cpu > 20*time.Millisecond
	})
	r := prywalk(t, "dump", "-n", name).must(t, 0)
	if !strings.Contains(r.stdout, "runs_on") || r.stderr != "" {
		t.Errorf("want the stack of runs_on and no message, have %s and %s", clip(r.stdout), clip(r.stderr))
	}
	r = prywalk(t, "doctor", "-p", strconv.Itoa(cmd.Process.Pid))
	if !strings.Contains(r.stdout, "lets prywalk trace its threads") {
		t.Errorf("doctor: %s", clip(r.stdout))
	}
	out := filepath.Join(scratch(t, nil), "r.pb.gz")
	prywalk(t, "record", "-d", "1", "-a", "--match", name, "-o", out).must(t, 0)
	if r := prywalk(t, "report", out).must(t, 0); !strings.Contains(r.stdout, "runs_on") {
		t.Errorf("no runs_on in the report: %s", clip(r.stdout))
	}
}

func TestKernelThread(t *testing.T) {
	pid := ""
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		// PF_KTHREAD in the flags of stat (include/linux/sched.h).
		text, _ := os.ReadFile(dir + "/stat")
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 6 {
			if flags, _ := strconv.ParseUint(f[6], 10, 64); flags&0x00200000 != 0 {
				pid = filepath.Base(dir)
				break
			}
		}
	}
	testtargets.Need(t, pid != "", "a pid namespace with kernel threads", "run the tests on the host")
	prywalk(t, "record", "-d", "1", "-p", pid).must(t, 1).oneLine(t, pid, "kernel thread")
}

func TestProcessOfAnotherUser(t *testing.T) {
	pid := "1"
	if os.Geteuid() == 0 {
		pid = pidList(testtargets.Run(t, "c", testtargets.Options{}).PIDs())
	}
	for _, args := range [][]string{{"record", "-d", "1", "-p", pid}, {"dump", "-p", pid}} {
		r := command{args: args, user: ordinary()}.run(t).must(t, 3)
		r.oneLine(t, pid)
	}
}

func trace(t *testing.T, tids []int) {
	t.Helper()
	seized, release := make(chan error), make(chan struct{})
	t.Cleanup(func() { close(release) })
	go func() {
		runtime.LockOSThread()
		for _, tid := range tids {
			if err := unix.PtraceSeize(tid); err != nil {
				seized <- fmt.Errorf("seize %d: %w", tid, err)
				return
			}
		}
		seized <- nil
		<-release
	}()
	if err := bounded.Receive(t, "the threads are seized", seized); err != nil {
		t.Fatal(err)
	}
}

func TestProcessTracedByAnother(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	trace(t, threadsOf(target.PID))
	r := prywalk(t, "record", "--engine", "ptrace", "-d", "1", "-p", strconv.Itoa(target.PID))
	if !slices.Contains([]int{0, 4}, r.code) {
		t.Errorf("record: exit code %d, want 0 or 4", r.code)
	}
	by := fmt.Sprintf("(process %d) traces it, stops refused: ", os.Getpid())
	if !strings.Contains(r.stderr, by) {
		t.Errorf("record: no %q on standard error: %q", by, r.stderr)
	}
	d := prywalk(t, "dump", "-p", strconv.Itoa(target.PID))
	if !slices.Contains([]int{0, 4}, d.code) || !strings.Contains(d.stderr, by) {
		t.Errorf("dump: exit code %d, want 0 or 4, and %q on standard error: %q", d.code, by, d.stderr)
	}
}

func TestOneThreadTracedByAnother(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	trace(t, []int{target.PID})
	r := record(t, "--engine", "ptrace", "-d", "1", "-p", strconv.Itoa(target.PID))
	checkAccounting(t, r.stats)
	if r.stats.Failed["traced"] == 0 {
		t.Errorf("failed observations are %v, want one as traced", r.stats.Failed)
	}
}

func TestNoMatchingThreadIsAFailureWithAValidFile(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	file := filepath.Join(scratch(t, nil), "empty.pb.gz")
	r := prywalk(t, "record", "-d", "1", "-p", strconv.Itoa(target.PID), "--threads", "^no such thread$", "-o", file)
	r.must(t, 4)
	if p := readProfile(t, file); len(p.Sample) != 0 {
		t.Errorf("%d samples, want none", len(p.Sample))
	}
}

func TestReportOfBadFiles(t *testing.T) {
	dir := scratch(t, nil)
	for name, text := range map[string]string{
		"empty": "", "text": "this is no profile\n", "cut": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		prywalk(t, "report", file).must(t, 1).oneLine(t, file)
	}
	none := filepath.Join(dir, "none")
	prywalk(t, "report", none).must(t, 1).oneLine(t, none)
}

func TestHostilePerfMapDoesNotStopTheRecording(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	file := fmt.Sprintf("/tmp/perf-%d.map", target.PID)
	text := "ffffffffffffffff ffffffffffffffff whole\nzz 10 x\n0 0\n\n" + strings.Repeat("A", 1<<20) + "\x00\xff"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	recordUntil(t, "it is sampled as expected", hasExpected(target.Expect), "-p", strconv.Itoa(target.PID))
}

func TestTruncatedBinaryDoesNotStopTheRecording(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	text, err := os.ReadFile(target.Exe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target.Exe+".new", text[:len(text)/2], 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(target.Exe+".new", target.Exe); err != nil {
		t.Fatal(err)
	}
	r := recordUntil(t, "enough samples on a CPU", func(p *profile.Profile) bool { return computing(p) >= fewSamples },
		"-p", strconv.Itoa(target.PID))
	checkIncomplete(t, r, target.Expect)
}

func TestHalfABinaryIsRecordedByCommandToo(t *testing.T) {
	dir := scratch(t, nil)
	file := filepath.Join(dir, "broken")
	if err := testtargets.WriteExecutable(file, []byte("\x7fELF\x02\x01\x01")); err != nil {
		t.Fatal(err)
	}
	command{args: []string{"record", "--", file}, dir: dir}.run(t).must(t, 126).oneLine(t, file)
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Errorf("signal %v to process %d: %v", s, pid, err)
	}
}
