// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// Root directories of two containers of a pod: one has only a server, one only prywalk.
type containers struct{ server, prywalk string }

func newContainers(t *testing.T) containers {
	t.Helper()
	needRoot(t, "make namespaces")
	dir := scratch(t, nil)
	c := containers{filepath.Join(dir, "server"), filepath.Join(dir, "debug")}
	for _, path := range []string{c.server + "/app", c.server + "/proc", c.prywalk + "/proc", c.prywalk + "/tmp"} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(c.prywalk+"/tmp", 0o777); err != nil {
		t.Fatal(err)
	}
	copyProgram(t, serverProgram(t), c.server+"/app/server")
	copyProgram(t, binary, c.prywalk+"/prywalk")
	return c
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := testtargets.WriteExecutable(to, text); err != nil {
		t.Fatal(err)
	}
}

func (c containers) pod(more string) []string {
	return []string{"sh", "-ec", fmt.Sprintf(`mount -t proc proc '%[2]s/proc'
mount -t proc proc /proc
chroot '%[1]s' /app/server & S=$!
until [ "$(ls /proc/$S/task | wc -l)" = 2 ]; do sleep 0.1; done
`, c.server, c.prywalk) + more}
}

func namesOf(t *testing.T, text string) {
	t.Helper()
	var d struct {
		Threads []struct {
			Complete bool
			Frames   []struct{ Function, Module string }
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("dump: %v: %s", err, clip(text))
	}
	seen := map[string]bool{}
	for _, th := range d.Threads {
		if !th.Complete {
			t.Errorf("incomplete stack: %+v", th)
		}
		for _, f := range th.Frames {
			if strings.HasSuffix(f.Module, "/app/server") {
				seen[f.Function] = true
			}
		}
	}
	if !seen["main"] || len(d.Threads) != 2 {
		t.Errorf("%d threads, want 2; functions of /app/server %v, want main", len(d.Threads), seen)
	}
}

// The containers share a PID namespace but no file, as with a debug container.
func TestContainerOfTheSamePodNamesTheServersFunctions(t *testing.T) {
	t.Parallel()
	c := newContainers(t)
	for name, pod := range map[string]struct {
		user  *testtargets.User
		flags []string
	}{
		"root":     {nil, []string{"--pid", "--fork", "--mount"}},
		"rootless": {testtargets.Nobody, []string{"--user", "--map-root-user", "--pid", "--fork", "--mount"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := c.pod("umask 077\nchroot '" + c.prywalk + "' /prywalk dump --json -p $S\n" +
				"chroot '" + c.prywalk + "' /prywalk record -q -d 0.5 -o - -p $S >r.pb.gz\n")
			dir := scratch(t, pod.user)
			r := command{exe: "unshare", args: append(pod.flags, script...), user: pod.user, dir: dir}.run(t).must(t, 0)
			namesOf(t, r.stdout)
			functions := map[string]bool{}
			for _, f := range readProfile(t, filepath.Join(dir, "r.pb.gz")).Function {
				functions[f.Name] = true
			}
			if !functions["main"] {
				t.Errorf("functions of the recording are %v, want main", functions)
			}
		})
	}
}

func TestContainerWithoutSysPtraceIsRefused(t *testing.T) {
	t.Parallel()
	c := newContainers(t)
	script := c.pod("")
	script[2] = strings.Replace(script[2], "chroot '"+c.server, "chroot --userspec=33:33 '"+c.server, 1) +
		"setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace chroot '" + c.prywalk + "' /prywalk dump -p $S\n"
	r := command{exe: "unshare", args: append([]string{"--pid", "--fork", "--mount"}, script...)}.run(t).must(t, 3)
	if !strings.Contains(r.stderr, "cap_sys_ptrace") && !strings.Contains(r.stderr, "SYS_PTRACE") {
		t.Errorf("no SYS_PTRACE on standard error: %s", r.stderr)
	}
}

func TestHostDumpNamesAContainersFunctions(t *testing.T) {
	t.Parallel()
	c := newContainers(t)
	cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount", "chroot", c.server, "/app/server")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	pid := ""
	eventually(t, "the server has two threads", func() bool {
		n := strconv.Itoa(cmd.Process.Pid)
		text, _ := os.ReadFile("/proc/" + n + "/task/" + n + "/children")
		pid = strings.TrimSpace(string(text))
		list, _ := os.ReadDir("/proc/" + pid + "/task")
		return pid != "" && len(list) == 2
	})
	namesOf(t, prywalk(t, "dump", "--json", "-p", pid).must(t, 0).stdout)
	dir := scratch(t, nil)
	command{dir: dir, args: []string{"record", "-q", "-d", "0.5", "-p", pid}}.run(t).must(t, 0)
	inner := map[int64]bool{}
	for _, s := range readProfile(t, filepath.Join(dir, "prywalk.pb.gz")).Sample {
		for _, n := range s.NumLabel["ns_pid"] {
			inner[n] = true
		}
	}
	if len(inner) != 1 || !inner[1] {
		t.Errorf("labels ns_pid are %v, want 1", inner)
	}
}

func TestOnlyMembersOfTheGroupMaySample(t *testing.T) {
	t.Parallel()
	needRoot(t, "be two users and to give capabilities")
	const group = 64222
	exe := withCapabilities(t, "")
	if err := os.Chown(exe, 0, group); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(exe, 0o750); err != nil {
		t.Fatal(err)
	}
	caps := "cap_sys_ptrace,cap_dac_read_search,cap_perfmon,cap_sys_nice,cap_checkpoint_restore+ep"
	if out, err := bounded.AllOutput(exec.Command("setcap", caps, exe)); err != nil {
		t.Logf("%v: %s", err, out)
		testtargets.Need(t, false, "file capabilities", "a file system that keeps them")
	}
	member := &testtargets.User{UID: testtargets.Nobody.UID, GID: group}
	run := func(args ...string) result {
		return command{args: args, user: member, exe: exe, dir: scratch(t, member)}.run(t)
	}
	for _, uid := range []uint32{33, 0} {
		pid := rightsTarget(t, uid)
		if out := run("dump", "-p", pid).must(t, 0).stdout; !strings.Contains(out, ", 2 threads") {
			t.Errorf("a group member's dump has not 2 threads: %s", out)
		}
	}
	outsider := exec.Command(exe, "version")
	outsider.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testtargets.Nobody.UID,
		Gid: testtargets.Nobody.GID}}
	if out, err := bounded.AllOutput(outsider); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a user outside the group: %v, want permission denied: %s", err, out)
	}
	if out := run("record", "-q", "--", "grep", "^Cap[EPA]", "/proc/self/status").stdout; strings.Count(out,
		"0000000000000000") != 3 {
		t.Errorf("the recorded command has capabilities, want none:\n%s", out)
	}
	// prywalk opens files for a group member that the member cannot read (docs/rights.md).
	secret := filepath.Join(scratch(t, nil), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run("report", secret); strings.Contains(r.stderr, "permission denied") {
		t.Errorf("report of root's file by a group member: %s", r.stderr)
	}
}
