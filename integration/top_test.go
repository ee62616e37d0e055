// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func onTmux(t *testing.T) (*tmux, *testtargets.Target) {
	t.Helper()
	target := testtargets.Run(t, "c", testtargets.Options{})
	m := newTmux(t, 100, 40)
	m.types("./prywalk top --interval 0.3 -p " + strconv.Itoa(target.PID))
	m.until("the table", "burn_60", "q quit")
	return m, target
}

func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	m, _ := onTmux(t)
	m.keys("/")
	m.run("send-keys", "burn_60")
	m.keys("Enter")
	m.until("the filter", "filter /burn_60/", "1 of 1")
	testtargets.Eventually(t, "the filtered table has no other function", // a frame may be half drawn
		func() bool { return !strings.Contains(m.screen(), "burn_30") })
	m.keys("Enter")
	m.until("the stack", "stacks with burn_60", "▸ burn_60", "main")
	m.run("send-keys", "Escape", "Escape")
	m.until("back, without the filter", "burn_30", "burn_60")
	m.keys("Tab")
	m.until("threads", "threads · 1 of")
	m.keys("Tab")
	m.until("waits", "waits · 1 of", "[running]")
	m.keys("1", "Space")
	before := m.until("the pause", "PAUSED")
	m.keys("c", "c", "c", "c")
	m.until("the same frozen table", "PAUSED", strings.SplitN(before, "\n", 2)[0])
	m.keys("Space")
	testtargets.Eventually(t, "the table is updated again",
		func() bool { return !strings.Contains(m.screen(), "PAUSED") })
	m.run("resize-window", "-x", "60", "-y", "12")
	text := m.until("60 columns", "units", "q quit")
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if len([]rune(line)) > 60 {
			t.Errorf("line of more than 60 columns: %q", line)
		}
	}
	if n := strings.Count(strings.TrimRight(text, "\n"), "\n"); n > 11 {
		t.Errorf("%d lines, want at most 12:\n%s", n+1, text)
	}
	m.run("resize-window", "-x", "132", "-y", "40")
	m.until("132 columns", "esc back")
	m.keys("q")
	m.until("the shell", "ready:")
}

func TestTopNamesTheOptionThatGivesNames(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c-stripped", testtargets.Options{})
	text, err := bounded.Output(exec.Command(binary, "top", "--once", "--window", "0.5", "-p", strconv.Itoa(target.PID)))
	if err != nil || strings.Count(string(text), "To get names: ") != 1 ||
		!strings.Contains(string(text), "without -s and run top again") {
		t.Errorf("top --once: want \"To get names: \" once, with the remedy: %v\n%s", err, text)
	}
}

func TestTopLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	m := newTmux(t, 100, 24)
	was := m.settings("before")
	pidFile := filepath.Join(m.dir, "pid")
	for _, end := range []string{"q", "C-c", "TERM", "HUP"} {
		m.types("clear; sh -c 'echo $$ > pid; exec ./prywalk top -p " + strconv.Itoa(target.PID) +
			" -o all.pb.gz --interval 0.3'")
		m.until("the table", "burn_60", "q quit")
		if sig := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[end]; sig != 0 {
			if err := syscall.Kill(readPID(t, pidFile), sig); err != nil {
				t.Fatal(err)
			}
		} else {
			m.keys(end)
		}
		text := m.until("the shell after "+end, "→ all.pb.gz", "ready:")
		if strings.Contains(text, "q quit") {
			t.Errorf("after %s the table is still on the screen:\n%s", end, text)
		}
		if is := m.settings(end); is != was {
			t.Errorf("after %s the terminal's settings are not as before\n%s, but\n%s", end, was, is)
		}
		if p, err := profile.ReadFile(filepath.Join(m.dir, "all.pb.gz")); err != nil || len(p.Sample) == 0 {
			t.Errorf("after %s the recording has no samples: %v", end, err)
		}
	}
}

func TestTopSuspendsAndContinues(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	m := newTmux(t, 100, 24)
	m.types("set -m")
	was := m.settings("before")
	m.types("clear; ./prywalk top -p " + strconv.Itoa(target.PID) + " --interval 0.3")
	m.until("the table", "burn_60", "q quit")
	m.keys("C-z")
	m.until("the shell", "ready:", "Stopped")
	if is := m.settings("stopped"); is != was {
		t.Errorf("while stopped, the terminal's settings are not as before\n%s, but\n%s", was, is)
	}
	m.types("fg")
	m.until("the table again", "burn_60", "q quit")
	m.keys("q")
	testtargets.Eventually(t, "the process has exited", func() bool { return !strings.Contains(m.screen(), "q quit") })
}

func TestTopStaysWhenTheTargetEnds(t *testing.T) {
	t.Parallel()
	m, target := onTmux(t)
	if err := syscall.Kill(target.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m.until("the end", "ENDED: q leaves", "burn_60")
	m.keys("q")
	m.until("the shell", "ready:")
}

func readPID(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

type topTable struct {
	Ended     bool             `json:"ended"`
	Total     map[string]int64 `json:"total"`
	Functions []struct {
		Name   string           `json:"name"`
		Module string           `json:"module"`
		Self   map[string]int64 `json:"self"`
		Total  map[string]int64 `json:"total"`
	} `json:"functions"`
}

func TestTopsLastTableEqualsItsRecording(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	dir := scratch(t, nil)
	r := command{dir: dir, args: []string{"top", "-p", strconv.Itoa(target.PID), "-d", "3", "--interval", "0.5", "--json",
		"--rows", "-1", "-o", "all.pb.gz"}}.run(t).must(t, 0)
	var last topTable
	lines := 0
	for line := range strings.Lines(r.stdout) {
		last = topTable{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatal(err)
		}
		lines++
	}
	if lines < 2 || !last.Ended {
		t.Errorf("%d lines, want two at least; ended is %v in the last, want true", lines, last.Ended)
	}
	var want topTable
	out := command{dir: dir, args: []string{"report", "--json", "all.pb.gz"}}.run(t).must(t, 0).stdout
	if err := json.Unmarshal([]byte(out), &want); err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for i, f := range last.Functions {
		rows[f.Name+" "+f.Module] = i
	}
	if len(last.Functions) != len(want.Functions) || len(want.Functions) == 0 {
		t.Errorf("the last table has %d functions, want %d, as report", len(last.Functions), len(want.Functions))
	}
	for clock, v := range want.Total {
		if last.Total[clock] != v {
			t.Errorf("total %s is %d, want %d, as report", clock, last.Total[clock], v)
		}
		for _, w := range want.Functions {
			i, ok := rows[w.Name+" "+w.Module]
			if !ok {
				t.Fatalf("the last table has no function %s", w.Name)
			}
			if f := last.Functions[i]; f.Self[clock] != w.Self[clock] || f.Total[clock] != w.Total[clock] {
				t.Errorf("%s of %s: self %d, total %d; want %d and %d, as report", clock, w.Name, f.Self[clock],
					f.Total[clock], w.Self[clock], w.Total[clock])
			}
		}
	}
}

func TestTopOnce(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	pid := strconv.Itoa(target.PID)
	r := prywalk(t, "top", "-p", pid, "--once", "--window", "2s").must(t, 0)
	for _, want := range []string{"burn_60", "thread", "wait"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("top --once: no %s in\n%s", want, r.stdout)
		}
	}
	// Two threads run or are queued all the time: one of these rows is among the five largest.
	if !strings.Contains(r.stdout, "[running]") && !strings.Contains(r.stdout, "[waiting for a CPU]") {
		t.Errorf("top --once: no running threads in\n%s", r.stdout)
	}
	if strings.Contains(r.stdout, "\x1b") || r.stderr != "" {
		t.Errorf("top --once: want no escape and nothing on stderr: stdout %q\nstderr %q", r.stdout, r.stderr)
	}
	dir := scratch(t, nil)
	const script = `{ "$0" top -p "$1" --interval 0.3 -o "$2"; echo code $? >&2; } | head -1 >/dev/null`
	out, err := bounded.AllOutput(exec.Command("sh", "-c", script, binary, pid, dir+"/all.pb.gz"))
	if err != nil || !strings.Contains(string(out), "code 0") {
		t.Errorf("top with a closed pipe as output: want exit code 0: %v: %s", err, out)
	}
	if p, err := profile.ReadFile(dir + "/all.pb.gz"); err != nil || len(p.Sample) == 0 {
		t.Errorf("the recording of top with a closed pipe has no samples: %v", err)
	}
}

func TestTopOncePrintsWhatItsRecordingHas(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	out := filepath.Join(scratch(t, nil), "once.pb.gz")
	shown := prywalk(t, "top", "-p", strconv.Itoa(target.PID), "--once", "--window", "0.5", "--json", "-o", out).must(t, 0)
	var table, report struct{ Total map[string]int64 }
	for text, into := range map[string]any{shown.stdout: &table, prywalk(t, "report", "--json", out).stdout: &report} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.Equal(table.Total, report.Total) {
		t.Errorf("top --once has %v, its recording %v", table.Total, report.Total)
	}
}

func TestTopReportsWhyItCannotSample(t *testing.T) {
	t.Parallel()
	prywalk(t, "top", "-p", "999999999").must(t, 1).oneLine(t, "999999999")
	prywalk(t, "top").must(t, 2).oneLine(t, "-p PID")
	prywalk(t, "top", "--", "true").must(t, 2).oneLine(t, "-n NAME")
	prywalk(t, "top", "-p", "1", "--interval", "1us").must(t, 2).oneLine(t, "--interval")
	prywalk(t, "top", "-p", "1", "--value", "x").must(t, 2).oneLine(t, "cpu, runqueue, blocked or wall")
	prywalk(t, "top", "-p", "1", "-o", "-").must(t, 2).oneLine(t, "-o -")
	if os.Geteuid() == 0 {
		target := testtargets.Run(t, "c", testtargets.Options{})
		command{user: testtargets.Nobody, args: []string{"top", "-p", strconv.Itoa(target.PID), "--once"}}.run(t).must(t,
			3).oneLine(t, strconv.Itoa(target.PID))
	}
}
