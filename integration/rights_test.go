// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
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

func rightsTarget(t *testing.T, uid uint32) (pid string) {
	t.Helper()
	exe := filepath.Join(scratch(t, nil), "threads")
	if out, err := bounded.AllOutput(exec.Command("cc", "-O1", "-pthread", "-o", exe, "testdata/threads.c")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid = strconv.Itoa(cmd.Process.Pid)
	eventually(t, "the target has two threads", func() bool {
		list, _ := os.ReadDir("/proc/" + pid + "/task")
		return len(list) == 2
	})
	return pid
}

func withCapabilities(t *testing.T, caps string) string {
	t.Helper()
	text, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(scratch(t, nil), "prywalk")
	if err := testtargets.WriteExecutable(exe, text); err != nil {
		t.Fatal(err)
	}
	if caps != "" {
		if out, err := bounded.AllOutput(exec.Command("setcap", caps+"+ep", exe)); err != nil {
			t.Logf("%v: %s", err, out)
			testtargets.Need(t, false, "file capabilities", "a file system that keeps them")
		}
	}
	return exe
}

func TestACommandThatMayNotBeSampledKeepsItsStatus(t *testing.T) {
	needRoot(t, "make a setuid program")
	path := testtargets.NeedProgram(t, "timeout")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	program, dir := filepath.Join(scratch(t, nil), "setuid"), scratch(t, testtargets.Nobody)
	if err := testtargets.WriteExecutable(program, text); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	r := command{args: []string{"record", "-o", "r.pb.gz", "--", program, "1", "sleep", "9"}, user: testtargets.Nobody,
		dir: dir, exe: withCapabilities(t, "")}.run(t)
	if r.must(t, 124); !strings.Contains(r.stderr, "it runs as user root") {
		t.Errorf("the program is not refused: %s", r.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "r.pb.gz")); err != nil {
		t.Error(err)
	}
}

func TestEachCapabilityAllowsWhatTheRightsPageStates(t *testing.T) {
	needRoot(t, "be two users and to give capabilities")
	for _, c := range []struct {
		caps              string
		running, sleeping bool
		more              bool // the same rights as another row
	}{
		{"", false, false, false},
		{"cap_dac_read_search", false, false, true},
		{"cap_sys_ptrace", true, false, false},
		{"cap_sys_ptrace,cap_perfmon", true, false, true},
		{"cap_sys_ptrace,cap_dac_read_search", true, true, false},
		{"cap_sys_ptrace,cap_dac_read_search,cap_perfmon,cap_sys_nice,cap_checkpoint_restore", true, true, true},
	} {
		for _, uid := range []uint32{33, 0} {
			t.Run(fmt.Sprintf("%s/%d", c.caps, uid), func(t *testing.T) {
				if c.more {
					testtargets.OnlyInAll(t, "capabilities that add no right to those of another row")
				}
				pid, user := rightsTarget(t, uid), testtargets.Nobody
				exe, dir := withCapabilities(t, c.caps), scratch(t, testtargets.Nobody)
				run := func(args ...string) result { return command{args: args, user: user, exe: exe, dir: dir}.run(t) }
				code := 0
				if !c.running {
					code = 3
				}
				messages := run("record", "-d", "1", "-p", pid, "-o", "r.pb.gz").must(t, code).stderr
				remedy := "sudo setcap cap_sys_ptrace,cap_dac_read_search"
				if strings.Contains(messages, remedy) == c.sleeping || strings.Contains(messages, "security module") {
					t.Errorf("record: %q wanted: %v, and no word of security modules: %s", remedy,
						!c.sleeping, messages)
				}
				if c.running {
					checkStates(t, filepath.Join(dir, "r.pb.gz"), c.sleeping)
				}
				if l := run("dump", "--locks", "-p", pid); c.running &&
					(strings.Contains(l.stderr, "could not be read (denied") == c.sleeping ||
						strings.Contains(l.stdout, "no deadlock") != c.sleeping) {
					t.Errorf("dump --locks: want unreadable threads reported unless all can be read: exit code %d: "+
						"%s%s", l.code, l.stdout, l.stderr)
				}
				d := run("doctor", "--json", "-p", pid)
				worst, commands := readDoctor(t, d.stdout)
				if (worst == "fail") == c.sleeping || (d.code == 0) != c.sleeping {
					t.Errorf("doctor -p: exit code %d and worst result %s, want success only if sleeping threads can "+
						"be read", d.code, worst)
				}
				if !c.sleeping && !strings.HasPrefix(commands, remedy) || strings.Count(commands, "setcap") > 1 {
					t.Errorf("doctor's commands are %q, want at most one setcap, %q unless sleeping threads can be "+
						"read", commands, remedy)
				}
			})
		}
	}
}

func checkStates(t *testing.T, file string, sleeping bool) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range readProfile(t, file).Sample {
		if s.Location[0].Address != 0 {
			seen[s.Label["state"][0]] = true
		}
	}
	if !seen["running"] || seen["sleeping"] != sleeping {
		t.Errorf("states of the stacks are %v, want running, and sleeping: %v", seen, sleeping)
	}
}

func readDoctor(t *testing.T, text string) (worst, commands string) {
	t.Helper()
	var d struct {
		SchemaVersion int `json:"schema_version"`
		Worst         string
		Findings      []struct{ Name, Level, Command string }
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil || !strings.HasPrefix(text, "{\n  \"schema_version\": 2,\n") {
		t.Fatalf("%v\n%s", err, text)
	}
	seen := map[string]bool{}
	for _, f := range d.Findings {
		if f.Command != "" && !seen[f.Command] {
			seen[f.Command] = true
			commands += f.Command + "\n"
		}
	}
	return d.Worst, commands
}
