// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/exit"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// deadlocked starts a process with three threads that wait for each other.
func deadlockedProcess(t *testing.T) (pid string) {
	t.Helper()
	exe, err := testtargets.Compile("cycles.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "cycle")
	_, lines := testtargets.Talk(t, cmd)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid = strconv.Itoa(cmd.Process.Pid)
	testtargets.Eventually(t, "all threads wait", func() bool {
		p := start(t, t.TempDir(), nil, "dump", "-p", pid, "--locks")
		return p.code(t) == exit.Deadlock
	})
	return pid
}

func TestTwoDumpsProveWhichThreadsHaveNotRun(t *testing.T) {
	t.Parallel()
	pid, dir := deadlockedProcess(t), t.TempDir()
	for _, name := range []string{"a.json", "b.json"} {
		p := start(t, dir, nil, "dump", "-p", pid, "--json")
		if code := p.code(t); code != 0 {
			t.Fatalf("exit code %d: %s", code, p.err.String())
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(p.out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"--since", "a.json"}, {"--since", "a.json", "-p", pid}, {"--diff", "a.json", "b.json"},
	} {
		p := start(t, dir, nil, append([]string{"dump"}, args...)...)
		code, text := p.code(t), p.out.String()
		if code != 0 || !strings.HasPrefix(text, "4 of 4 threads have not run in ") ||
			!strings.Contains(text, "; DEADLOCK of 3 threads\n") || strings.Count(text, "; neither has run\n") != 3 {
			t.Errorf("%v: exit code %d\n%s%s", args, code, text, p.err.String())
		}
		p = start(t, dir, nil, append([]string{"dump", "--json"}, args...)...)
		var c struct {
			Version int `json:"schema_version"`
			Threads []struct{ Change string }
			Cycles  [][]int
		}
		if code := p.code(t); code != 0 || json.Unmarshal([]byte(p.out.String()), &c) != nil || c.Version == 0 ||
			len(c.Threads) != 4 || c.Threads[0].Change != "not run" || len(c.Cycles) != 1 {
			t.Errorf("%v: exit code %d\n%s%s", args, code, p.out.String(), p.err.String())
		}
	}
	for want, args := range map[string][]string{
		"give the earlier one first":       {"--diff", "b.json", "a.json"},
		"it has no process 1, but":         {"--since", "a.json", "-p", "1"},
		"no such file or directory; make ": {"--since", "c.json"},
		"--diff takes two files":           {"--diff", "a.json"},
		"give one of --since, --diff":      {"--since", "a.json", "--watch", "1s"},
		"cannot be combined with --locks":  {"--since", "a.json", "--locks"},
		"--sysroot is for cores":           {"--since", "a.json", "--sysroot", "/"},
	} {
		p := start(t, dir, nil, append([]string{"dump"}, args...)...)
		if code := p.code(t); code == 0 || !strings.Contains(p.err.String(), want) {
			t.Errorf("%v: exit code %d, want %q: %s", args, code, want, p.err.String())
		}
	}
}

func TestWatchShowsChangesUntilTheProcessEnds(t *testing.T) {
	t.Parallel()
	pid := burner(t)
	p := start(t, t.TempDir(), nil, "dump", "-p", pid, "--watch", "0.2")
	testtargets.Says(t, &p.out, "put on a CPU")
	n, _ := strconv.Atoi(pid)
	if err := unix.Kill(n, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.code(t); code != 0 || !strings.Contains(p.err.String(), "process "+pid+" has ended") {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}

func TestACoreIsComparedWithADump(t *testing.T) {
	t.Parallel()
	testtargets.NeedProgram(t, "gcore")
	pid, dir := deadlockedProcess(t), t.TempDir()
	p := start(t, dir, nil, "dump", "-p", pid, "--json")
	if code := p.code(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(p.out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := bounded.AllOutput(exec.Command("gcore", "-o", filepath.Join(dir, "core"), pid)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p = start(t, dir, nil, "dump", "--diff", "a.json", "core."+pid)
	want := "4 of 4 threads have the same stack, without run counts that prove that they did not run\n"
	if code := p.code(t); code != 0 || !strings.HasPrefix(p.out.String(), want) {
		t.Errorf("exit code %d: %s%s", code, p.out.String(), p.err.String())
	}
}
