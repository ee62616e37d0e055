// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

var binary string

func TestMain(m *testing.M) {
	if os.Getenv(seccompVariable) != "" {
		execWithoutPtrace()
	}
	if os.Getenv(measuredVariable) != "" {
		measure()
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	syscall.Umask(0o022) // other users run what the tests make
	dir, err := os.MkdirTemp("", "prywalk-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "prywalk")
	if err := testtargets.BuildPrywalk(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

type result struct {
	code           int // or 128+N after signal N
	stdout, stderr string
}

type command struct {
	args []string
	user *testtargets.User
	dir  string
	env  []string
	exe  string
}

type running struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	cancel         context.CancelFunc
}

const patience = 4 * time.Minute

func (c command) start(t *testing.T) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	exe := binary
	if c.exe != "" {
		exe = c.exe
	}
	r := &running{t: t, cmd: exec.CommandContext(ctx, exe, c.args...), cancel: cancel}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.Env = append(append(os.Environ(), "NO_COLOR=1"), c.env...)
	r.cmd.WaitDelay = patience
	if r.cmd.Dir = c.dir; c.dir == "" {
		r.cmd.Dir = scratch(t, c.user)
	}
	if c.user != nil {
		r.cmd.Env = append(r.cmd.Env, "HOME="+r.cmd.Dir)
		r.cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: c.user.UID, Gid: c.user.GID},
		}
	}
	if err := r.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	return r
}

func (r *running) wait() result {
	r.t.Helper()
	defer r.cancel()
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%v: %v\n%s", r.cmd.Args, err, r.stderr.String())
	}
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	res := result{code: status.ExitStatus(), stdout: r.stdout.String(), stderr: r.stderr.String()}
	if status.Signaled() {
		res.code = 128 + int(status.Signal())
	}
	return res
}

func (r *running) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Errorf("signal %v to prywalk: %v\n%s", s, err, r.stderr.String())
	}
}

func (c command) run(t *testing.T) result {
	t.Helper()
	return c.start(t).wait()
}

func prywalk(t *testing.T, args ...string) result {
	t.Helper()
	return command{args: args}.run(t)
}

func (r result) must(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, clip(r.stdout), clip(r.stderr))
	}
	return r
}

func (r result) oneLine(t *testing.T, words ...string) {
	t.Helper()
	if n := strings.Count(strings.TrimRight(r.stderr, "\n"), "\n"); n != 0 || strings.TrimSpace(r.stderr) == "" {
		t.Errorf("standard error is not one line:\n%s", clip(r.stderr))
	}
	for _, w := range words {
		if !strings.Contains(strings.ToLower(r.stderr), strings.ToLower(w)) {
			t.Errorf("standard error %q has no %q", r.stderr, w)
		}
	}
	if strings.Contains(r.stderr, "goroutine ") {
		t.Errorf("a stack trace on stderr:\n%s", clip(r.stderr))
	}
}

func clip(s string) string { return s[:min(len(s), 2000)] }

func scratch(t *testing.T, u *testtargets.User) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "prywalk-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if u != nil {
		if err := os.Chown(dir, int(u.UID), int(u.GID)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func needRoot(t *testing.T, why string) {
	t.Helper()
	testtargets.NeedRoot(t, why)
}

// needOwnTracing skips a test where ordinary users may not trace their other processes.
func needOwnTracing(t *testing.T) {
	t.Helper()
	testtargets.Need(t, yama() == 0, fmt.Sprint("kernel.yama.ptrace_scope of 0, not ", yama()),
		"sudo sysctl kernel.yama.ptrace_scope=0")
}

// ordinary returns an ordinary user if the test is root, else nil: the test's own user.
func ordinary() *testtargets.User {
	if os.Geteuid() == 0 {
		return testtargets.Nobody
	}
	return nil
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testtargets.Eventually(t, what, ok)
}
