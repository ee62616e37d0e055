// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"prywalk/internal/base/errs"
	"prywalk/internal/command/commandline"
	"prywalk/internal/host/selection"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"

	"golang.org/x/sys/unix"
)

func TestTyposGetASuggestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"rceord -p 1", `unknown command "rceord" (do you mean prywalk record?)`},
		{"rep", "do you mean prywalk mcp or report or top?"},
		{"dmup --json", "do you mean prywalk dump or mcp?"},
		{"d", `unknown command "d"; prywalk --help lists the commands`},
		{"frobnicate", `unknown command "frobnicate"; prywalk --help lists the commands`},
		{"record --durration 3", "unknown flag: --durration; see prywalk record --help"},
		{"report --call foo", "unknown flag: --call; see"},
		{"record --zzz", "unknown flag: --zzz; see prywalk record --help"},
		{"report --folded -n 3", "-n (--rows) has no effect with --folded; leave one of them out"},
		{"record -p 1 5s", "give either -p or a command, not both"},
	} {
		p := start(t, t.TempDir(), nil, strings.Fields(c.args)...)
		if code := p.code(t); code != errs.ExitUsage || strings.Count(p.err.String(), "\n") != 1 ||
			!strings.Contains(p.err.String(), c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, code, &p.err)
		}
	}
}

func TestTwoOutputsOfOneNameAreRefused(t *testing.T) {
	t.Parallel()
	for args, flags := range map[string]string{
		"record -p 1 -o r.pb.gz --stats ./r.pb.gz": "-o and --stats",
		"report --html r --speedscope ./r r.pb.gz": "--html and --speedscope",
		"report --html - --pgo - r.pb.gz":          "--html and --pgo",
	} {
		p := start(t, t.TempDir(), nil, strings.Fields(args)...)
		if code := p.code(t); code != errs.ExitUsage || !strings.Contains(p.err.String(), flags+" name one file") {
			t.Errorf("%s: exit code %d, %s", args, code, &p.err)
		}
	}
}

func TestVersionIsTheBuilds(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "--version")
	if code := p.code(t); code != 0 || p.out.String() != version()+"\n" || !strings.HasPrefix(version(), "prywalk ") {
		t.Errorf("exit code %d, %q, %s", code, &p.out, &p.err)
	}
}

func TestCommandThatEndsAtOnceIsRecorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		code    int
	}{{"exit 0", 0}, {"exit 7", 7}} {
		dir := t.TempDir()
		p := start(t, dir, nil, "record", "--", "sh", "-c", c.command)
		if code := p.code(t); code != c.code || strings.Contains(p.err.String(), "--threads") ||
			strings.Contains(p.err.String(), "no samples") ||
			strings.Count(p.err.String(), "\n") != 1 || !strings.Contains(p.err.String(), "sample") {
			t.Errorf("%s: exit code %d, %s", c.command, code, &p.err)
		}
		testtargets.ReadRecording(t, filepath.Join(dir, "prywalk.pb.gz"))
	}
	p := start(t, t.TempDir(), nil, "record", "--threads", "nobody", "-d", "0.3", "-p", burner(t))
	if code := p.code(t); code != errs.ExitNoSamples || !strings.Contains(p.err.String(), "no thread matches --threads") {
		t.Errorf("exit code %d, %s", code, &p.err)
	}
}

func TestRecordingIsNotWrittenToATerminal(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"-", "/dev/stdout"} {
		text, stderr, code := onTerminal(t, t.TempDir(), 80, nil, "record", "-d", "1", "-o", output, "-p", burner(t))
		if code != errs.ExitUsage || text != "" || !strings.Contains(stderr, "to the terminal") {
			t.Errorf("exit code %d, %q, %s", code, text, stderr)
		}
	}
}

func TestHelpIsAligned(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"", "record", "report", "dump", "doctor", "top", "diff"} {
		p := start(t, t.TempDir(), nil, strings.Fields(c+" --help")...)
		if code := p.code(t); code != 0 {
			t.Fatalf("%s: exit code %d", c, code)
		}
		_, flags, _ := strings.Cut(p.out.String(), "\nFlags:\n")
		flags, _, _ = strings.Cut(flags, "\n\n")
		at := -1
		for line := range strings.Lines(flags) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > commandline.HelpWidth {
				t.Errorf("%s: %d columns: %s", c, n, line)
			}
			text := strings.TrimLeft(line, " ")
			begin := utf8.RuneCountInString(line) - utf8.RuneCountInString(text)
			if strings.HasPrefix(text, "-") {
				_, behind, _ := strings.Cut(text, "   ")
				begin = utf8.RuneCountInString(line) - utf8.RuneCountInString(strings.TrimLeft(behind, " "))
			}
			if at < 0 {
				at = begin
			}
			if begin != at {
				t.Errorf("%s: the text begins in column %d, not %d: %s", c, begin, at, line)
			}
		}
		if strings.Contains(flags, "(default -1)") || strings.Count(flags, "precision") > 1 && strings.Count(flags,
			"(default 0.01") > 0 {
			t.Errorf("%s: two defaults:\n%s", c, flags)
		}
	}
}

func asName(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	if err := testtargets.WriteExecutable(file, code); err != nil {
		t.Fatal(err)
	}
	return exec.Command(file, "600")
}

func running(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestFlagsOfANameAreRefusedWithoutOne(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"record", "--wait", "-p", "1"}, {"record", "--all", "-p", "1"},
		{"record", "--wait", "--user", "root"}, {"top", "--wait", "-a"}, {"record", "--all", "--unit", "x"}} {
		p := start(t, t.TempDir(), nil, args...)
		if code := p.code(t); code != errs.ExitUsage || !strings.Contains(p.err.String(), "is for -n NAME") {
			t.Errorf("%v: exit code %d, %s", args, code, &p.err)
		}
	}
}

func TestProcessesAreFoundByName(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("pw%d", os.Getpid())
	p := start(t, t.TempDir(), nil, "dump", "-n", name)
	if code := p.code(t); code != errs.ExitFailed || !strings.Contains(p.err.String(), "no process has the name") {
		t.Errorf("none: exit code %d, %s", code, &p.err)
	}
	pid := running(t, asName(t, name))
	for command, wait := range map[string]bool{"dump": false, "doctor": false, "record": true, "top": true} {
		p := start(t, t.TempDir(), nil, command, "-n", name[:3]+"x"+name[3:])
		code, text := p.code(t), p.err.String()
		if code != errs.ExitFailed || !strings.Contains(text, "ps -e lists") ||
			strings.Contains(text, "--wait") != wait {
			t.Errorf("%s: exit code %d, %s", command, code, text)
		}
	}
	for _, args := range [][]string{{"dump", "-n", name}, {"dump", name}, {"doctor", name},
		{"record", "-d", "0.2", "-n", name}, {"record", "-d", "0.2", name}, {"record", "-d", "0.2", "--wait", "-n", name}} {
		if p := start(t, t.TempDir(), nil, args...); p.code(t) != 0 {
			t.Errorf("%v: %s", args, &p.err)
		}
	}
	other := running(t, asName(t, name))
	for _, args := range [][]string{{"dump", "-n", name}, {"record", "-n", name}, {"record", name},
		{"doctor", "-n", name}} {
		p := start(t, t.TempDir(), nil, args...)
		if code := p.code(t); code != errs.ExitUsage || !strings.Contains(p.err.String(), fmt.Sprintf("\n  -p %d  ", pid)) ||
			!strings.Contains(p.err.String(), fmt.Sprintf("\n  -p %d  ", other)) ||
			strings.Contains(p.err.String(), "--all") != (args[0] != "doctor") {
			t.Errorf("%v, two of them: exit code %d, %s", args, code, &p.err)
		}
	}
	for _, args := range []string{"record -p 1 -n x", "record -n x -- true", "record --wait", "record --wait -p 1"} {
		p := start(t, t.TempDir(), nil, strings.Fields(args)...)
		if code := p.code(t); code != errs.ExitUsage {
			t.Errorf("%s: exit code %d, %s", args, code, &p.err)
		}
	}
}

func TestWaitAwaitsAProcess(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("later%d", os.Getpid())
	dir := t.TempDir()
	p := start(t, dir, nil, "record", "-d", "0.2", "-n", name, "--wait")
	testtargets.Says(t, &p.err, "waiting for a process named "+name)
	running(t, asName(t, name))
	if code := p.code(t); code != 0 {
		t.Errorf("exit code %d, %s", code, &p.err)
	}
	testtargets.ReadRecording(t, filepath.Join(dir, "prywalk.pb.gz"))
	q := start(t, dir, nil, "record", "-n", "never"+name, "--wait")
	testtargets.Says(t, &q.err, "waiting for a process")
	_ = q.Process.Signal(unix.SIGINT)
	if code := q.code(t); code != errs.ExitNoSamples {
		t.Errorf("interrupted: exit code %d, %s", code, &q.err)
	}
}

func TestTheAgentNeedsARunningProcessForAName(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("svc%d", os.Getpid())
	p := start(t, t.TempDir(), nil, "agent", "-n", name, "--endpoint", "http://127.0.0.1:1")
	if code := p.code(t); code != errs.ExitFailed || !strings.Contains(p.err.String(), "--match '^"+name+"$'") {
		t.Errorf("exit code %d, want 1, and --match that waits: %s", code, &p.err)
	}
	args := []string{"agent", "--match", "^" + name + "$", "--endpoint", "http://127.0.0.1:1", "--flush", "100ms"}
	q := start(t, t.TempDir(), nil, args...)
	testtargets.Says(t, &q.err, "waits for one")
	_ = q.Process.Signal(unix.SIGTERM)
	if code := q.code(t); code != errs.ExitOK {
		t.Errorf("terminated: exit code %d, %s", code, &q.err)
	}
}

func TestATokenIsNotSentInClearTextWithoutAWarning(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]bool{
		"http://localhost:4317": true, "http://127.0.0.1:4317": true, "http://[::1]:4317": true,
		"https://collector:4317": true, "http://LocalHost:4317": true,
		"http://collector:4317": false, "http://192.0.2.1:4317": false,
	} {
		if got := isSecret(endpoint); got != want {
			t.Errorf("%s: secret %v, want %v", endpoint, got, want)
		}
	}
	for _, flag := range [][]string{{"--bearer-token", os.DevNull}, {"--header", "authorization=Basic eA=="}} {
		p := start(t, t.TempDir(), nil, "agent", "-p", fmt.Sprint(os.Getpid()), "-d", "0.2", "--flush", "10ms",
			flag[0], flag[1], "--endpoint", "http://192.0.2.1:4317", "--timeout", "100ms")
		name, _, _ := strings.Cut(flag[1], "=")
		want := "--bearer-token is sent in clear text"
		if flag[0] == "--header" {
			want = "--header " + name + " is sent in clear text"
		}
		testtargets.Says(t, &p.err, want)
		p.code(t)
	}
}

// doctor examines rights, and the first thread's state only.
func TestUnreadThreadsHaveTheNextStepOfTheirReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failed map[string]int64
		want   string
	}{
		{map[string]int64{"timeout": 3, "exited": 1}, "process 7: 3 threads could not be read (timeout 3); check for " +
			"uninterruptible sleep (state D: ps -L -o tid,stat,wchan:30,comm -p 7), a frozen cgroup, or CPUs that are all busy"},
		{map[string]int64{"timeout": 1, "denied": 1}, "process 7: 2 threads could not be read (denied 1, timeout 1); next"},
		{map[string]int64{"max-pause": 1}, "process 7: 1 thread could not be read (max-pause 1); give a longer --max-pause"},
		{map[string]int64{"max-pause": 9, "traced": 1}, "process 7: 10 threads could not be read (max-pause 9, traced 1); " +
			"give a longer --max-pause"},
		{map[string]int64{"other": 9, "max-pause": 1}, "process 7: 10 threads could not be read (other 9, max-pause 1); " +
			"prywalk schema stats has the reasons"},
		{map[string]int64{"map-lock": 2}, "process 7: 2 threads could not be read (map-lock 2); another thread holds the " +
			"lock of the process's mappings; try again"},
		{map[string]int64{"open-files": 2}, "process 7: 2 threads could not be read (open-files 2); raise prywalk's limit " +
			"of open files: ulimit -n 4096"},
		{map[string]int64{"other": 1}, "process 7: 1 thread could not be read (other 1); prywalk schema stats has the " +
			"reasons"},
		{map[string]int64{"exited": 1}, ""},
	} {
		if got := unreadThreads(&stacks.Process{PID: 7, Failed: c.failed}, "next"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	const want = "process 7: no thread could be read (max-pause 1); give a longer --max-pause"
	err := (&dumpFlags{}).reportFailedThreads(&stacks.Process{PID: 7, Failed: map[string]int64{"max-pause": 1}})
	var e *errs.Error
	if !errors.As(err, &e) || err.Error() != want || e.Code != errs.ExitNoSamples {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestUnreadThreadsAreAnErrorInJSON(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	testtargets.StderrIs(t, f)
	p := &stacks.Process{PID: 7, Threads: make([]stacks.Thread, 1), Failed: map[string]int64{"map-lock": 1}}
	if err := (&dumpFlags{json: true}).reportFailedThreads(p); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(f.Name())
	const want = `{"schema_version":2,"error":{"code":0,"cause":"process 7: 1 thread could not be read (map-lock 1)",`
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%s %v", text, err)
	}
}

func TestADumpWhoseProcessesHaveEndedHasAnExitCode(t *testing.T) {
	t.Parallel()
	rule, err := selection.New(selection.Criteria{All: true})
	if err != nil {
		t.Fatal(err)
	}
	f := &dumpFlags{goroutines: true}
	f.processes.finder, f.processes.pids = selection.NewFinder(rule), []int{math.MaxInt32}
	for name, dump := range map[string]func(io.Writer) error{"stacks": f.dumpAll, "locks": f.dumpLocks} {
		var b strings.Builder
		err := dump(&b)
		if err == nil || exitCode(err) != errs.ExitNoSamples || !strings.Contains(err.Error(), "ended before") ||
			b.Len() > 0 {
			t.Errorf("%s: %v; %q", name, err, b.String())
		}
	}
}

func TestTopSamplesAsRecordDoes(t *testing.T) {
	t.Parallel()
	pid := strconv.Itoa(running(t, asName(t, "sleeps")))
	stack, err := os.ReadFile("/proc/" + pid + "/stack")
	testtargets.Need(t, err == nil && len(stack) > 0, "the right to read kernel stacks", testtargets.AsRoot)
	dir := t.TempDir()
	p := start(t, dir, nil, "top", "--once", "--window", "0.5", "-p", pid, "-o", "top.pb.gz")
	if code := p.code(t); code != errs.ExitOK {
		t.Fatalf("exit code %d, %s", code, &p.err)
	}
	for _, m := range testtargets.ReadRecording(t, filepath.Join(dir, "top.pb.gz")).Mapping {
		if m.File == "[kernel]" {
			return
		}
	}
	t.Error("the recording has no kernel function")
}
