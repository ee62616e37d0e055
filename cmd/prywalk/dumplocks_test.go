// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/testtargets"
)

func TestDeadlockHasAnExitCode(t *testing.T) {
	t.Parallel()
	exe, err := testtargets.Compile("cycles.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]struct {
		code    int
		waiters int
		text    string
	}{"cycle": {errs.ExitDeadlock, 3, "1 DEADLOCK"}, "timed": {0, 3, "no deadlock"}} {
		cmd := exec.Command(exe, how)
		_, lines := testtargets.Talk(t, cmd)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		pid := strconv.Itoa(cmd.Process.Pid)
		var p *started
		code := 0
		testtargets.Eventually(t, how+": all threads wait", func() bool {
			p = start(t, t.TempDir(), nil, "dump", "-p", pid, "--locks")
			code = p.code(t)
			return strings.Count(p.out.String(), "\n  waiting: ") == want.waiters
		})
		const none = "2147483647"
		p = start(t, t.TempDir(), nil, "dump", "-p", none+","+pid, "--locks")
		both := p.code(t)
		if reported := strings.Contains(p.err.String(), none); !reported || want.code != 0 && both != want.code || both == 0 {
			t.Errorf("%s and an absent process: exit code %d: %s", how, both, p.err.String())
		}
		if code != want.code || !strings.Contains(p.out.String(), want.text) {
			t.Errorf("%s: exit code %d, want %d:\n%s%s", how, code, want.code, p.out.String(), p.err.String())
		}
	}
}

func TestLocksNameUnreadThreadsAlthoughAnotherProcessFailed(t *testing.T) {
	t.Parallel()
	pid := burner(t)
	tid, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	testtargets.Need(t, unix.PtraceSeize(tid) == nil, "the right to trace an own process", testtargets.AsRoot)
	defer func() { // the burner could not end else
		_ = unix.PtraceInterrupt(tid)
		_, _ = unix.Wait4(tid, nil, unix.WALL, nil)
		_ = unix.PtraceDetach(tid)
	}()
	const none = "2147483647"
	p := start(t, t.TempDir(), nil, "dump", "-p", none+","+pid, "--locks")
	code := p.code(t)
	for _, want := range []string{none, "traces it"} {
		if !strings.Contains(p.err.String(), want) {
			t.Errorf("exit code %d, no %q in %q", code, want, p.err.String())
		}
	}
}

func TestChildProcessesAreReadOnDemandAndElseCounted(t *testing.T) {
	t.Parallel()
	master := exec.Command("sh", "-c", "sleep 1000 & sleep 1000 & wait")
	master.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	testtargets.Child(t, master)
	t.Cleanup(func() { _ = unix.Kill(-master.Process.Pid, unix.SIGKILL) })
	pid := strconv.Itoa(master.Process.Pid)
	testtargets.Eventually(t, "the children are counted", func() bool {
		p := start(t, t.TempDir(), nil, "dump", "-p", pid, "--locks")
		return p.code(t) == errs.ExitOK && strings.Contains(p.out.String(), "\nnot read: 2 child processes ")
	})
	for _, form := range []string{"--locks", "--merge"} {
		p := start(t, t.TempDir(), nil, "dump", "-p", pid, "--children", form)
		code, out := p.code(t), p.out.String()
		if code != errs.ExitOK || strings.Count(out, "sleep, 1 thread") != 2 || strings.Contains(out, "not read") {
			t.Errorf("%s: exit code %d:\n%s%s", form, code, out, p.err.String())
		}
	}
}
