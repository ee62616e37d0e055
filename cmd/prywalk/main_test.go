// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/testtargets"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

// asCommand in the environment makes the test binary prywalk.
const asCommand = "PRYWALK_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		_ = os.Unsetenv(asCommand)
		main()
	}
	os.Exit(m.Run())
}

const (
	sameRequest   = time.Second
	sameInterrupt = 100 * time.Millisecond
	interruptWait = 300 * time.Millisecond
)

type started struct {
	*exec.Cmd
	out, err testtargets.Lines
}

func start(t *testing.T, dir string, stdin io.Reader, args ...string) *started {
	t.Helper()
	p := prepared(t, dir, stdin, args...)
	p.begin(t)
	return p
}

func prepared(t *testing.T, dir string, stdin io.Reader, args ...string) *started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &started{Cmd: exec.Command(self, args...)}
	p.Dir, p.Stdin, p.Stdout, p.Stderr = dir, stdin, &p.out, &p.err
	p.Env = append(os.Environ(), asCommand+"=1", "TERM=xterm")
	p.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	p.WaitDelay = 5 * time.Second
	return p
}

func (p *started) begin(t *testing.T) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(-p.Process.Pid, unix.SIGKILL) })
}

// code returns the exit status, or 128+N for a signal.
func (p *started) code(t *testing.T) int {
	t.Helper()
	guard := time.AfterFunc(2*testtargets.Patience, func() { _ = p.Process.Kill() })
	defer guard.Stop()
	var exit *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	st := p.ProcessState.Sys().(syscall.WaitStatus)
	if st.Signaled() {
		return 128 + int(st.Signal())
	}
	return st.ExitStatus()
}

func burner(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("timeout", "600", "sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGTERM)
		_ = cmd.Wait()
	})
	pid := ""
	testtargets.Eventually(t, "the shell runs", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		pid = strings.TrimSpace(string(text))
		comm, _ := os.ReadFile("/proc/" + pid + "/comm")
		return pid != "" && string(comm) == "sh\n"
	})
	return pid
}

func TestTermIsForwardedToTheCommandAndItsStatusReturned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, nil, "record", "--", "sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do :; done")
	testtargets.Says(t, &p.out, "ready")
	if err := p.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.code(t); code != 7 {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
	testtargets.ReadRecording(t, filepath.Join(dir, "prywalk.pb.gz"))
}

func TestInterruptOfTheGroupReachesTheCommandOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// It ends late enough for a second signal to be reported too.
	p := start(t, dir, nil, "record", "--", "sh", "-c",
		"n=0; trap 'echo int; n=1' INT; echo ready; while [ $n = 0 ]; do :; done; while [ $n -lt 20000 ]; do n=$((n+1)); "+
			"done; exit 9")
	testtargets.Says(t, &p.out, "ready")
	began := time.Now()
	if err := unix.Kill(-p.Process.Pid, unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	code, n := p.code(t), strings.Count(p.out.String(), "int")
	// Without a processor for that long the shell counts as uninterrupted.
	if late := time.Since(began) > interruptWait; code != 9 || n != 1 && !(late && n == 2) {
		t.Errorf("exit code %d, %q: %s", code, &p.out, &p.err)
	}
	testtargets.ReadRecording(t, filepath.Join(dir, "prywalk.pb.gz"))
}

func TestFailedWriteIsReportedBeforeTheCommandEnds(t *testing.T) {
	t.Parallel()
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer w.Close()
	p := start(t, t.TempDir(), in, "record", "-d", "0.1", "-o", "/dev/full", "--", "cat")
	testtargets.Says(t, &p.err, "cannot write /dev/full: ")
	testtargets.Says(t, &p.err, "recording failed; waiting for cat")
	w.Close()
	if code := p.code(t); code != errs.ExitInternal || strings.Count(p.err.String(), "cannot write") != 1 {
		t.Errorf("exit code %d, want %d and one error: %s", code, errs.ExitInternal, &p.err)
	}
}

func TestShortDurationReportsThatItWaitsForTheCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p := start(t, dir, in, "record", "-d", "0.3", "--", "sh", "-c",
		"i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; read line; echo \"got $line\"; exit 5")
	testtargets.Says(t, &p.err, "waiting for sh")
	testtargets.Says(t, &p.err, "to exit; Ctrl-C interrupts it, a second one leaves it")
	testtargets.ReadRecording(t, filepath.Join(dir, "prywalk.pb.gz"))
	fmt.Fprintln(w, "through stdin")
	w.Close()
	if code := p.code(t); code != 5 || p.out.String() != "got through stdin\n" {
		t.Errorf("exit code %d, %q: %s", code, &p.out, &p.err)
	}
}

func TestBackgroundProcessesOfTheCommandAreNotAwaited(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "record", "--", "sh", "-c",
		"sleep 600 >/dev/null 2>&1 & i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 4")
	if code := p.code(t); code != 4 {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "record", "--", "sh", "-c", "trap '' INT; echo ready; while :; do :; done")
	testtargets.Says(t, &p.out, "ready")
	for _, wait := range []string{"waiting for sh", ""} {
		if err := p.Process.Signal(unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		testtargets.Says(t, &p.err, wait)
		time.Sleep(sameInterrupt) // the subject: a later one is another interrupt
	}
	if code := p.code(t); code != 128+int(unix.SIGINT) {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
}

func TestIgnoredHangUpStaysIgnored(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pid := burner(t)
	p := &started{Cmd: exec.Command("sh", "-c", `trap '' HUP USR1; exec "$0" record -o r.pb.gz -p "$1"`, self, pid)}
	p.Dir, p.Stderr, p.Env = t.TempDir(), &p.err, append(os.Environ(), asCommand+"=1")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.Dir, "r.pb.gz")
	checkpoint(t, p, file)
	if err := p.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(file)
	checkpoint(t, p, file)
	_ = p.Process.Signal(unix.SIGTERM)
	if code := p.code(t); code != 0 {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
}

// checkpoint repeats the signal, which the Go runtime drops until prywalk listens.
func checkpoint(t *testing.T, p *started, file string) {
	t.Helper()
	var asked time.Time
	if !testtargets.Comes(func() bool {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.Process.Pid))
		if string(comm) != "sh\n" && time.Since(asked) > time.Second { // not twice: no checkpoint is under way afterwards
			_ = p.Process.Signal(unix.SIGUSR1)
			asked = time.Now()
		}
		return hasSamples(t, file)
	}) {
		t.Fatalf("no checkpoint: %s", &p.err)
	}
}

// hasSamples reports whether the recording exists and has a sample: on a busy machine the first one may take a second.
func hasSamples(t *testing.T, file string) bool {
	t.Helper()
	_, err := os.Stat(file)
	return err == nil && slices.ContainsFunc(testtargets.ReadRecording(t, file).Sample,
		func(s *pprof.Sample) bool { return s.Value[0] > 0 })
}

func TestOneBadPIDOfSeveralIsReported(t *testing.T) {
	t.Parallel()
	pid := burner(t)
	p := start(t, t.TempDir(), nil, "record", "-d", "1", "-p", pid+",999999999")
	if code := p.code(t); code != errs.ExitFailed || strings.Count(p.err.String(), "\n") != 1 ||
		!strings.Contains(p.err.String(), "999999999") {
		t.Errorf("exit code %d: %s", code, &p.err)
	}
	p = start(t, t.TempDir(), nil, "dump", "--json", "-p", "999999999,"+pid+",999999998")
	if code := p.code(t); code != errs.ExitFailed || strings.Count(p.out.String(), "\n") != 1 ||
		strings.Count(p.err.String(), "no such process") != 2 {
		t.Errorf("exit code %d: %s%s", code, &p.out, &p.err)
	}
	for line := range strings.Lines(p.err.String()) {
		if !strings.HasPrefix(line, `{"schema_version":2,"error":{"code":1,`) || !strings.HasSuffix(line, "}}\n") {
			t.Errorf("line %q", line)
		}
	}
}

func TestAtomicDumpReportsThePause(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "dump", "--atomic", "--json", "-p", burner(t))
	if code := p.code(t); code != 0 || !strings.Contains(p.err.String(), "was stopped for") ||
		!strings.HasPrefix(p.out.String(), `{"schema_version":2,"time":`) {
		t.Errorf("exit code %d: %s%s", code, &p.out, &p.err)
	}
}

func TestMergedDumpIsText(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "dump", "--merge", "-p", burner(t))
	if code := p.code(t); code != 0 || !strings.Contains(p.out.String(), "1 stack\n") {
		t.Errorf("exit code %d: %s%s", code, &p.out, &p.err)
	}
	p = start(t, t.TempDir(), nil, "dump", "--merge", "--json", "-p", "1")
	if code := p.code(t); code != 2 {
		t.Errorf("exit code %d: %s%s", code, &p.out, &p.err)
	}
}

func TestDumpNamesTheRemedyForMissingNamesOnce(t *testing.T) {
	t.Parallel()
	one, other := testtargets.Run(t, "c-stripped", testtargets.Options{}), testtargets.Run(t, "c-stripped",
		testtargets.Options{})
	pids := fmt.Sprintf("%d,%d", one.PID, other.PID)
	for _, flags := range [][]string{{"dump", "-p", pids}, {"dump", "--merge", "-p", pids}} {
		p := start(t, t.TempDir(), nil, flags...)
		code := p.code(t)
		_, last, _ := strings.Cut(p.out.String(), fmt.Sprintf("process %d ", other.PID))
		if code != 0 || strings.Count(p.out.String(), "To get names: ") != 1 ||
			!strings.Contains(last, "+0x…: functions without symbols, shown by address in the file.") ||
			!strings.Contains(last, "without -s and dump again") {
			t.Errorf("exit code %d: %s%s", code, &p.out, &p.err)
		}
	}
	p := start(t, t.TempDir(), nil, "dump", "--json", "-p", pids)
	if code := p.code(t); code != 0 || strings.Contains(p.out.String(), "To get names") {
		t.Errorf("exit code %d: %s%s", code, &p.out, &p.err)
	}
}

func TestHelpBeginsWithAnExampleAndHasNoColours(t *testing.T) {
	t.Parallel()
	for _, c := range newRoot().Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		p := start(t, t.TempDir(), nil, c.Name(), "--help")
		if code := p.code(t); code != 0 || !strings.HasPrefix(p.out.String(), "  prywalk "+c.Name()) ||
			strings.Contains(p.out.String(), "\x1b") {
			t.Errorf("%s --help: %d, %.80q", c.Name(), code, p.out.String())
		}
	}
}

func TestOwnFailureWithACommandHasItsOwnExitCode(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none", "file")
	for _, c := range []struct {
		code int
		args []string
	}{
		{errs.ExitInternal, []string{"-o", missing}},
		{errs.ExitInternal, []string{"--stats", missing}},
		{errs.ExitInternal, []string{"--event-log", missing}},
		{errs.ExitUsage, []string{"--engine", "none"}},
		{9, nil},
	} {
		p := start(t, t.TempDir(), nil, slices.Concat([]string{"record"}, c.args, []string{"--", "sh", "-c", "exit 9"})...)
		if code := p.code(t); code != c.code {
			t.Errorf("record %s -- sh: exit code %d, want %d: %s", c.args, code, c.code, &p.err)
		}
	}
}

func TestExitCodesOfErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
	}{
		{errs.Usage("x"), 2},
		{fmt.Errorf("a: %w", os.ErrPermission), 3},
		{errs.With(errs.ExitNoSamples, "x"), 4},
		{&errs.Error{Code: 143}, 143},
		{errors.New("x"), 1},
	} {
		if got := exitCode(c.err); got != c.code {
			t.Errorf("%v: %d, want %d", c.err, got, c.code)
		}
	}
}
