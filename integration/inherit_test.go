// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func inheritProgram(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(scratch(t, ordinary()), "inherit")
	if out, err := bounded.AllOutput(exec.Command("cc", "-O1", "-o", exe, "testdata/inherit.c")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

func TestLaunchedCommandInheritsWhatItWouldWithoutPrywalk(t *testing.T) {
	t.Parallel()
	exe := inheritProgram(t)
	for _, user := range []*testtargets.User{nil, ordinary()} {
		dir := scratch(t, user)
		run := func(args ...string) []string {
			r := command{args: append([]string{"set"}, args...), exe: exe, user: user, dir: dir}.run(t).must(t, 0)
			return strings.Split(r.stdout, "\n")
		}
		without := run(exe, "print", "argument")
		with := run(binary, "record", "-o", filepath.Join(dir, "r.pb.gz"), "--", exe, "print", "argument")
		if len(without) < 100 || len(with) != len(without) {
			t.Fatalf("%d lines without prywalk, want 100 or more; %d with, want as many", len(without), len(with))
		}
		for i := range without {
			if with[i] != without[i] {
				t.Errorf("user %v: with prywalk %q, without %q", user, with[i], without[i])
			}
		}
	}
}

func TestMonitorOfTheGoRuntimeHasALargerTimerSlack(t *testing.T) {
	t.Parallel()
	needRoot(t, "read another process's timer slack")
	own, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []*testtargets.User{nil, ordinary()} {
		dir := scratch(t, user)
		ready := filepath.Join(dir, "ready")
		r := command{args: []string{"record", "-o", filepath.Join(dir, "r.pb.gz"), "--", "sh", "-c",
			"touch " + ready + "; exec sleep 1000"}, user: user, dir: dir}.start(t)
		testtargets.Eventually(t, "the command runs", func() bool { _, err := os.Stat(ready); return err == nil })
		task, err := os.Open(fmt.Sprintf("/proc/%d/task", r.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		// The kernel lists threads by age (fs/proc/base.c, proc_task_readdir); the runtime starts sysmon first.
		tids, _ := task.Readdirnames(2)
		task.Close()
		slack, err := os.ReadFile("/proc/" + tids[len(tids)-1] + "/timerslack_ns")
		if want := fmt.Sprintln(own + 10e6); err != nil || string(slack) != want {
			t.Errorf("user %v: timer slack is %q ns (%v), want %q", user, slack, err, want)
		}
		r.signal(syscall.SIGTERM)
		r.wait()
	}
}

// At a real-time policy the kernel accepts a timer slack and keeps none: a restart for it would not end.
func TestAProgramAtARealTimePolicyIsNotRestarted(t *testing.T) {
	t.Parallel()
	needRoot(t, "set a real-time policy")
	dir := scratch(t, nil)
	args := []string{"-f", "1", binary, "record", "-o", filepath.Join(dir, "r.pb.gz"), "--", "true"}
	command{args: args, exe: testtargets.NeedProgram(t, "chrt"), dir: dir}.run(t).must(t, 0)
}

func TestARestartIsNoZombieMeanwhile(t *testing.T) {
	for range 20 {
		r := command{args: []string{"record", "-p", "none"}}.start(t) // wrong usage, which is found after the restart
		pid := r.cmd.Process.Pid
		for end := time.Now().Add(patience); stateOf(pid) != "Z" && time.Now().Before(end); {
		}
		if now := stateOf(pid); now != "Z" {
			t.Fatalf("state Z, or none for %v, then %s", patience, now)
		}
		r.wait().must(t, 2)
	}
}

func startDeathsig(t *testing.T, args ...string) (r *running, pid int, input io.Closer) {
	t.Helper()
	in, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); inW.Close(); out.Close() })
	cmd := exec.Command(binary, append(append([]string{"record"}, args...), "--", inheritProgram(t), "deathsig")...)
	r = &running{t: t, cmd: cmd, cancel: func() {}}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = scratch(t, nil), in, outW, &r.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // SIGTSTP has no effect in an orphaned process group
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	outW.Close()
	_ = out.SetReadDeadline(time.Now().Add(patience))
	line, _ := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscanf(line, "asked %d", &pid); err != nil {
		t.Fatalf("the command printed %q", line)
	}
	return r, pid, inW
}

func TestCommandWithAParentDeathSignalOutlivesTheRecording(t *testing.T) {
	t.Parallel()
	for range 5 {
		r, pid, in := startDeathsig(t, "-d", "0.3")
		waitForFile(t, filepath.Join(r.cmd.Dir, "prywalk.pb.gz"))
		// The thread that started the command has ended by then, or does not end.
		eventually(t, "prywalk only waits for the command", func() bool { return sleeps(r.cmd.Process.Pid) })
		if s := stateOf(pid); s == "" || s == "Z" {
			t.Errorf("the command's state after the recording is %q, want alive", s)
		}
		in.Close()
		r.wait().must(t, 7)
	}
}

func sleeps(pid int) bool {
	for _, tid := range threadsOf(pid) {
		if stateOf(tid) != "S" {
			return false
		}
	}
	return true
}

func TestCommandWithAParentDeathSignalOutlivesCtrlZ(t *testing.T) {
	t.Parallel()
	r, pid, in := startDeathsig(t)
	for range 5 {
		eventually(t, "prywalk catches the signal", func() bool { return catches(r.cmd.Process.Pid, syscall.SIGTSTP) })
		r.signal(syscall.SIGTSTP)
		eventually(t, "prywalk and the command stop", func() bool {
			return stateOf(r.cmd.Process.Pid) == "T" && stateOf(pid) == "T"
		})
		r.signal(syscall.SIGCONT)
		eventually(t, "both continue", func() bool { return stateOf(r.cmd.Process.Pid) != "T" && stateOf(pid) == "S" })
	}
	in.Close()
	r.wait().must(t, 7)
}

func catches(pid int, sig syscall.Signal) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, mask, _ := strings.Cut(string(text), "\nSigCgt:\t")
	mask, _, _ = strings.Cut(mask, "\n")
	caught, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && caught>>(sig-1)&1 == 1
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	eventually(t, path+" is written", func() bool {
		st, err := os.Stat(path)
		return err == nil && st.Size() > 0
	})
}
