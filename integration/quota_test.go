// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/host/cgroup"
	"prywalk/internal/testtargets"
)

func quotaOf(t *testing.T) string {
	t.Helper()
	for _, g := range []struct{ at, file, text string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "5000"}, {"/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "5000"},
		{"/sys/fs/cgroup", "cpu.max", "5000 100000"},
	} {
		if _, err := os.Stat(filepath.Join(g.at, "cgroup.procs")); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(g.at, "prywalk-quota-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { testtargets.Eventually(t, "the group is empty", func() bool { return os.Remove(dir) == nil }) })
		if os.Chmod(dir, 0o755) == nil && os.WriteFile(filepath.Join(dir, g.file), []byte(g.text), 0) == nil {
			return dir
		}
	}
	testtargets.Need(t, false, "a control group with a CPU quota",
		testtargets.AsRoot+", where a hierarchy with the cpu controller can be written")
	return ""
}

func TestTargetsThatUseUpTheirQuotaAreNamed(t *testing.T) {
	t.Parallel()
	group := quotaOf(t)
	cmd := testtargets.Child(t, exec.Command("sh", "-c", "while :; do :; done"))
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(scratch(t, nil), "r.pb.gz")
	r := prywalk(t, "record", "-d", "3", "-p", pid, "-o", out).must(t, 0)
	said := regexp.MustCompile("process " + pid + `: its cgroup \S+ was throttled for \S+ s, in \d+ of \d+ periods, ` +
		`as its CPU quota of 0\.05 CPUs was used up`)
	if report := prywalk(t, "report", out).must(t, 0); !said.MatchString(r.stderr) || !said.MatchString(report.stdout) {
		t.Errorf("no %q in the messages %s or the report %s", said, clip(r.stderr), clip(report.stdout))
	}
	top := prywalk(t, "top", "--once", "--window", "3", "-p", pid).must(t, 0).stdout
	if first, _, _ := strings.Cut(top, "\n"); !strings.HasPrefix(first, "its CPU quota was used up; ") ||
		!said.MatchString(strings.Join(strings.Fields(top), " ")) {
		t.Errorf("no %q in top's table %s", said, clip(top))
	}
	if doctor := prywalk(t, "doctor", "-p", pid).must(t, 0).stdout; !regexp.MustCompile(
		`(?m)^warn +target: cpu quota +5% of a CPU \(` + group + `\), used up in \d+ of \d+ periods`).MatchString(doctor) {
		t.Errorf("no used-up quota in doctor's findings %s", clip(doctor))
	}
}

func frozenGroup(t *testing.T) (dir string, set func(frozen bool)) {
	t.Helper()
	for _, g := range []struct{ at, file, freeze, thaw string }{
		{"/sys/fs/cgroup", "cgroup.freeze", "1", "0"}, {"/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"},
		{"/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"},
	} {
		if _, err := os.Stat(filepath.Join(g.at, "cgroup.procs")); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(g.at, "prywalk-frozen-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { testtargets.Eventually(t, "the group is empty", func() bool { return os.Remove(dir) == nil }) })
		if os.WriteFile(filepath.Join(dir, g.file), []byte(g.thaw), 0) != nil {
			continue
		}
		return dir, func(frozen bool) {
			text := g.thaw
			if frozen {
				text = g.freeze
			}
			if err := os.WriteFile(filepath.Join(dir, g.file), []byte(text), 0); err != nil {
				t.Error(err)
			}
		}
	}
	testtargets.Need(t, false, "a control group that can be frozen",
		testtargets.AsRoot+", where a hierarchy of control groups can be written")
	return "", nil
}

func TestFrozenTargetsAreNamed(t *testing.T) {
	group, set := frozenGroup(t)
	cmd := testtargets.Child(t, exec.Command("sh", "-c", "while :; do :; done"))
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set(false) }) // a frozen process of v1 does not end
	set(true)
	root := cgroup.Root("/")
	testtargets.Eventually(t, "the process is frozen", func() bool { return root.Frozen(cmd.Process.Pid) == group })
	if r := prywalk(t, "doctor", "-p", pid); !strings.Contains(r.stdout, "its cgroup "+group+" is frozen") {
		t.Errorf("doctor does not name the group: %s", clip(r.stdout))
	}
	for _, form := range []string{"", "--merge", "--locks"} {
		args := slices.DeleteFunc([]string{"dump", "-p", pid, form}, func(s string) bool { return s == "" })
		r := prywalk(t, args...).must(t, 0)
		if want := "1 thread"; !strings.Contains(r.stdout, want) ||
			!strings.Contains(r.stdout, "\nno thread runs: the cgroup "+group+" is frozen") {
			t.Errorf("dump %s does not name the group: %s", form, clip(r.stdout))
		}
	}
	out := filepath.Join(scratch(t, nil), "r.pb.gz")
	r := prywalk(t, "record", "-d", "1", "-p", pid, "-o", out).must(t, 0)
	said := "process " + pid + ": its cgroup " + group + " was frozen (as by docker pause) when the recording began and " +
		"when it ended"
	if report := prywalk(t, "report", out).must(t, 0); !strings.Contains(r.stderr, said) ||
		!strings.Contains(report.stdout, said) {
		t.Errorf("no %q in the messages %s or the report %s", said, clip(r.stderr), clip(report.stdout))
	}
	set(false)
	testtargets.Eventually(t, "the process runs", func() bool { return root.Frozen(cmd.Process.Pid) == "" })
	if r := prywalk(t, "dump", "-p", pid).must(t, 0); strings.Contains(r.stdout, "frozen") {
		t.Errorf("dump calls a process frozen that runs: %s", clip(r.stdout))
	}
}

// How often prywalk is throttled during a stop depends on the machine; that threads in the run queue are not
// stopped is tested exactly in package sampler.
func TestAQuotaOfPrywalksOwnIsInItsStatistics(t *testing.T) {
	needRoot(t, "run as another user")
	needOwnTracing(t)
	user := ordinary()
	group := quotaOf(t)
	args := []string{"-c", `while ! grep -q "$1" /proc/self/cgroup; do sleep 0.05; done; shift; exec "$@"`, "sh",
		filepath.Base(group), binary, "record", "-F", "1000", "-d", "3", "--stats", "stats.json"}
	for range runtime.NumCPU() + 4 {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user.UID, Gid: user.GID}}
		args = append(args, "-p", strconv.Itoa(testtargets.Child(t, cmd).Process.Pid))
	}
	r := command{exe: "/bin/sh", args: args, user: user}.start(t)
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(r.cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	r.wait().must(t, 0)
	text, err := os.ReadFile(filepath.Join(r.cmd.Dir, "stats.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Stopped         int64   `json:"stopped"`
		LeftToLaterTick int64   `json:"left_to_later_tick"`
		Quota           float64 `json:"cpu_quota"`
		Target          float64 `json:"cpu_target_s"`
		Profiled        float64 `json:"cpu_profiled_s"`
		Throttled       int64   `json:"stops_throttled"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	t.Logf("throttled during %d of %d stops, %d observations of queued threads", s.Throttled, s.Stopped, s.LeftToLaterTick)
	if s.Quota != 0.05 || s.Throttled > s.Stopped {
		t.Errorf("cpu_quota is %v, want 0.05; throttled during %d of %d stops", s.Quota, s.Throttled, s.Stopped)
	}
	if math.Abs(s.Target-s.Profiled) > 1e-6 { // both are rounded
		t.Errorf("%v s of CPU time in the recording, %v s by the kernel", s.Profiled, s.Target)
	}
}
