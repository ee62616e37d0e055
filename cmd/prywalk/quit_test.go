// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/testtargets"
)

const goStacks = "goroutine "

func TestSIGQUITEndsARecordingOfAProcessLikeSIGTERM(t *testing.T) {
	t.Parallel()
	p, file := begun(t)
	send(t, p, unix.SIGQUIT)
	if code := p.code(t); code != errs.ExitOK || strings.Contains(p.err.String(), goStacks) {
		t.Errorf("exit code %d, want 0 without stacks: %s", code, &p.err)
	}
	checkComments(t, testtargets.ReadRecording(t, file))
}

// quitter prints a line at each SIGQUIT, as a JVM prints a thread dump.
var quitter = []string{"record", "--", "sh", "-c", "trap 'echo quit' QUIT; echo ready; while :; do sleep 0.05; done"}

func afterQuit(t *testing.T, p *started, out *testtargets.Lines) {
	t.Helper()
	testtargets.Says(t, out, "quit")
	file := filepath.Join(p.Dir, "prywalk.pb.gz")
	testtargets.Eventually(t, "a checkpoint is written", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	testtargets.ReadRecording(t, file)
	send(t, p, unix.SIGTERM)
	if code := p.code(t); code != 128+int(unix.SIGTERM) || strings.Contains(p.err.String(), goStacks) {
		t.Errorf("exit code %d, want 143 without stacks: %s", code, &p.err)
	}
	if n := strings.Count(out.String(), "quit"); n != 1 {
		t.Errorf("SIGQUIT reached the command %d times, want once", n)
	}
}

func TestSIGQUITToPrywalkAloneIsForwardedToTheCommand(t *testing.T) {
	t.Parallel()
	p := prepared(t, t.TempDir(), nil, quitter...)
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.begin(t)
	testtargets.Says(t, &p.out, "ready")
	awaitSamples(t, p)
	send(t, p, unix.SIGQUIT)
	afterQuit(t, p, &p.out)
}

func TestCtrlBackslashReachesTheCommandOnce(t *testing.T) {
	t.Parallel()
	tty := testtargets.NewTerminal(t, 100)
	p := prepared(t, t.TempDir(), nil, quitter...)
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.Stdin, p.Stdout = tty.Slave, tty.Slave
	p.begin(t)
	testtargets.Says(t, &tty.Out, "ready")
	awaitSamples(t, p)
	tty.Type(t, "\x1c")
	afterQuit(t, p, &tty.Out)
}

func TestSIGQUITEndsOtherCommandsWithoutStacks(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "record", "--wait", "-n", "no-such-program-here")
	testtargets.Says(t, &p.err, "waiting for a process")
	send(t, p, unix.SIGQUIT)
	if code := p.code(t); code != 128+int(unix.SIGQUIT) || strings.Contains(p.err.String(), goStacks) {
		t.Errorf("exit code %d, want 131 without stacks: %s", code, &p.err)
	}
}

func TestSignalsThatAbortLeaveTheLastCheckpointAndNoThreadStopped(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{unix.SIGABRT, unix.SIGSYS, unix.SIGTRAP} {
		p, file := begun(t, "-F", "999", "--engine", "ptrace")
		pid, err := strconv.Atoi(p.Args[3])
		if err != nil {
			t.Fatal(err)
		}
		send(t, p, sig)
		if code := p.code(t); code == errs.ExitOK {
			t.Errorf("%v: exit code %d, want a failure: %s", sig, code, &p.err)
		}
		testtargets.ReadRecording(t, file)
		become(t, false, pid)
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if !strings.Contains(string(text), "TracerPid:\t0\n") {
			t.Errorf("%v: the target is still traced: %s", sig, text)
		}
		if left, _ := filepath.Glob(filepath.Join(p.Dir, "*")); len(left) != 1 {
			t.Errorf("%v: files are %q, want the checkpoint only", sig, left)
		}
		used := cpuTicks(t, pid)
		testtargets.Eventually(t, "the target runs on", func() bool { return cpuTicks(t, pid) > used })
	}
}

func TestSecondSignalEndsTopOnATerminalThatTakesNoOutput(t *testing.T) {
	t.Parallel()
	tty := testtargets.StoppedTerminal(t)
	p := prepared(t, t.TempDir(), nil, "top", "-p", burner(t))
	p.Stdin, p.Stdout, p.Stderr = tty, tty, tty
	p.Env = append(p.Env, "TERM=xterm")
	p.begin(t)
	awaitSamples(t, p)
	send(t, p, unix.SIGTERM)
	again := time.NewTicker(sameRequest) // a busy machine may deliver the first two within sameRequest
	defer again.Stop()
	go func() {
		for range again.C {
			_ = p.Process.Signal(unix.SIGTERM)
		}
	}()
	if code := p.code(t); code != 128+int(unix.SIGTERM) {
		t.Errorf("exit code %d, want 143", code)
	}
}

func cpuTicks(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return strings.Fields(after)[11]
}
