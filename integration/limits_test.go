// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

func underLimit(t *testing.T, u *testtargets.User, limit string, args ...string) result {
	t.Helper()
	return command{exe: "bash", user: u,
		args: append([]string{"-c", "ulimit " + limit + ` && exec "$@"`, "sh", binary}, args...)}.run(t)
}

func TestALimitThatIsTooLowIsOneLineWithTheRemedy(t *testing.T) {
	pid := strconv.Itoa(os.Getpid())
	for _, n := range []int{5, 6, 7, 8, 12, 16, 20, 40} {
		limit := fmt.Sprintf("-n %d", n)
		want := fmt.Sprintf("the limit of open files is %d, and prywalk needs 64; raise it: ulimit -n", n)
		underLimit(t, nil, limit, "record", "-d", "1", "-p", pid).must(t, 1).oneLine(t, want)
		underLimit(t, nil, limit, "dump", "-p", pid).must(t, 1).oneLine(t, want)
	}
	underLimit(t, nil, "-n 20", "record", "--", "true").must(t, 125).oneLine(t, "the limit of open files is 20")
	underLimit(t, nil, "-v 1800000", "dump", "-p", pid).must(t, 1).oneLine(t, "address space", "ulimit -v 2097152")
	underLimit(t, nil, "-v 1800000", "record", "--", "true").must(t, 125).oneLine(t, "address space")
	if os.Geteuid() == 0 {
		user := &testtargets.User{UID: 61234, GID: 61234}
		underLimit(t, user, "-u 12", "dump", "-p", pid).must(t, 1).oneLine(t, "processes and threads is 12", "ulimit -u")
	}
}

func TestTooManyOpenFilesIsTheReportedCause(t *testing.T) {
	t.Parallel()
	args := []string{"record", "-d", "1"}
	for range 60 {
		args = append(args, "-p", strconv.Itoa(shell(t, "sleep 1000")))
	}
	r := underLimit(t, nil, "-n 64", args...)
	if r.code == 0 {
		t.Fatalf("60 processes were recorded with 64 descriptors, want an error: %s", clip(r.stderr))
	}
	r.oneLine(t, "too many open files", "ulimit -n")
}

func TestChildrenNotOpenedForLackOfDescriptorsAreCounted(t *testing.T) {
	t.Parallel()
	dir := scratch(t, nil)
	out, stats := filepath.Join(dir, "r.pb.gz"), filepath.Join(dir, "stats.json")
	var s struct {
		Unopened int            `json:"processes_unopened"`
		Failed   map[string]int `json:"failed"`
	}
	var r result
	// On a busy machine a short recording ends before the children are there.
	for seconds := 2; s.Unopened < 80 && seconds < 200; seconds *= 4 {
		_ = os.Remove(stats)
		// The children end after the recording: the descriptors of one that ends earlier serve to open another.
		r = underLimit(t, nil, "-n 64", "record", "-d", strconv.Itoa(seconds), "-o", out, "--stats", stats, "--", "sh", "-c",
			`for i in $(seq 100); do sleep 1000 & all="$all $!"; done
			until [ -s "$0" ]; do sleep .1; done; kill $all; wait`, stats).must(t, 0)
		text, err := os.ReadFile(stats)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
	}
	if s.Unopened < 80 || s.Failed["open-files"] > 20 {
		t.Errorf("processes_unopened is %d with 100 children and 64 descriptors, and reads of the others failed: %v",
			s.Unopened, s.Failed)
	}
	want := fmt.Sprintf("%d started processes not opened (too many open files in prywalk", s.Unopened)
	if report := prywalk(t, "report", out).must(t, 0); !strings.Contains(r.stderr, want) ||
		!strings.Contains(report.stdout, want) {
		t.Errorf("no %q in the closing line %s or the report %s", want, clip(r.stderr), clip(report.stdout))
	}
}

func TestWithoutProcThereIsOneLineWithTheRemedy(t *testing.T) {
	t.Parallel()
	needRoot(t, "unmount /proc in a mount namespace")
	for _, args := range [][]string{{"record", "-p", "1"}, {"dump", "-p", "1"}, {"top", "-p", "1"}, {"doctor"},
		{"record", "--", "true"}} {
		r := command{exe: "unshare", args: append([]string{"-m", "sh", "-c", `umount -l /proc && exec "$@"`, "sh", binary},
			args...)}.run(t)
		code := 1
		if len(args) > 1 && args[1] == "--" {
			code = 125
		}
		r.must(t, code).oneLine(t, "/proc", "mount -t proc proc /proc")
	}
}

func TestWithoutSysEverythingWorks(t *testing.T) {
	t.Parallel()
	needRoot(t, "unmount /sys in a mount namespace")
	target := testtargets.Run(t, "c", testtargets.Options{})
	pid := strconv.Itoa(target.PID)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"record", "-d", "1", "-p", pid, "-o", "out.pb.gz"}, "with complete stacks"},
		{[]string{"dump", "-p", pid}, "main"}, {[]string{"top", "--once", "-p", pid}, "main"},
		{[]string{"doctor", "-p", pid}, "/sys/devices/system/cpu/online"},
	} {
		run := command{exe: "unshare", args: append([]string{"-m", "sh", "-c", `umount -l /sys && exec "$@"`, "sh", binary},
			c.args...)}
		// The limits of the cost leave no sample where the host gives the target little CPU time.
		eventually(t, fmt.Sprintf("%v prints %q", c.args, c.want), func() bool {
			r := run.run(t).must(t, 0)
			return strings.Contains(r.stdout+r.stderr, c.want)
		})
	}
}

func memoryGroup(t *testing.T, limit string) string {
	t.Helper()
	for _, g := range []struct{ at, file string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		if _, err := os.Stat(filepath.Join(g.at, "cgroup.procs")); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(g.at, "prywalk-memory-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { testtargets.Eventually(t, "the group is empty", func() bool { return os.Remove(dir) == nil }) })
		if os.Chmod(dir, 0o755) == nil && os.WriteFile(filepath.Join(dir, g.file), []byte(limit), 0) == nil {
			return dir
		}
	}
	testtargets.Need(t, false, "a control group with a memory limit",
		testtargets.AsRoot+", where a hierarchy with the memory controller can be written")
	return ""
}

func TestMaxMemoryDefaultsToHalfOfTheControlGroups(t *testing.T) {
	group := memoryGroup(t, "268435456")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--max-memory is 128M here: half of the control group's memory limit (256M)"},
		{[]string{"--max-memory", "200M"}, ""},
	} {
		args := append([]string{"-c", `echo $$ > "$1/cgroup.procs" && shift && exec "$@"`, "sh", group, binary, "dump",
			"-p", strconv.Itoa(os.Getpid())}, c.args...)
		r := command{exe: "sh", args: args}.run(t).must(t, 0)
		if c.want == "" && r.stderr != "" {
			t.Errorf("prywalk %v with a memory limit of 256M: want %q: %s", c.args, c.want, r.stderr)
		} else if c.want != "" {
			r.oneLine(t, c.want)
		}
	}
}
