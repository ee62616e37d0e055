// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
)

type dumped struct {
	PID     int            `json:"pid"`
	Threads []dumpedThread `json:"threads"`
}

type dumpedThread struct {
	TID        int           `json:"tid"`
	Name       string        `json:"name"`
	State      string        `json:"state"`
	Wait       string        `json:"wait"`
	How        string        `json:"how"`
	Complete   bool          `json:"complete"`
	StopReason string        `json:"stop_reason"`
	Frames     []dumpedFrame `json:"frames"`
}

type dumpedFrame struct {
	PC       string `json:"pc"`
	SP       string `json:"sp"`
	Function string `json:"function"`
	Inlined  bool   `json:"inlined"`
	Module   string `json:"module"`
	BuildID  string `json:"build_id"`
	Offset   string `json:"offset"`
	Method   string `json:"method"`
}

var hex = regexp.MustCompile(`^0x[0-9a-f]+$`)

func (d *dumpedThread) check(t *testing.T) {
	t.Helper()
	if !slices.Contains([]string{"stop", "passive", "unchanged"}, d.How) {
		t.Errorf("thread %d: how is %q, want stop, passive or unchanged", d.TID, d.How)
	}
	if d.Complete != (d.StopReason == "root") {
		t.Errorf("thread %d: complete is %v at stop reason %q, want true at root only", d.TID, d.Complete, d.StopReason)
	}
	for i, f := range d.Frames {
		if strings.HasPrefix(f.Function, "[") && f.PC == "" {
			continue
		}
		if !hex.MatchString(f.PC) || f.Method == "" || i == 0 && f.Method != "context" {
			t.Errorf("thread %d, frame %d: want a hexadecimal pc and a method (context for the first): %+v",
				d.TID, i, f)
		}
	}
}

func (d *dumpedThread) stack() []string {
	var names []string
	for _, f := range d.Frames {
		names = append(names, f.Function)
	}
	return names
}

func dump(t *testing.T, pid int, args ...string) dumped {
	t.Helper()
	r := prywalk(t, append([]string{"dump", "--json", "-p", strconv.Itoa(pid)}, args...)...).must(t, 0)
	var d dumped
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil {
		t.Fatalf("dump --json: %v: %s", err, clip(r.stdout))
	}
	if d.PID != pid {
		t.Errorf("pid %d, want %d", d.PID, pid)
	}
	for i := range d.Threads {
		d.Threads[i].check(t)
	}
	return d
}

func TestDumpShowsEveryThread(t *testing.T) {
	t.Parallel()
	for _, name := range testtargets.EachNth(3, []string{"c", "c-nocfi", "c-static-pie", "cpp"}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := testtargets.Run(t, name, testtargets.Options{})
			d := dump(t, target.PID)
			if want := len(threadsOf(target.PID)); len(d.Threads) != want {
				t.Errorf("%d threads, want %d", len(d.Threads), want)
			}
			for _, s := range target.Expect.Sleepers {
				i := slices.IndexFunc(d.Threads, func(d dumpedThread) bool { return d.Name == s.Thread })
				if i < 0 {
					t.Errorf("no thread %s", s.Thread)
					continue
				}
				th := d.Threads[i]
				if !th.Complete || th.State != "S" || !slices.Contains(s.Waits, th.Wait) ||
					!testtargets.HasChain(th.stack(), s.Chain) {
					t.Errorf("thread %s: state %s, wait %s, stop reason %s, stack %q; want S, one of %q, root, %v",
						s.Thread, th.State, th.Wait, th.StopReason, th.stack(), s.Waits, s.Chain)
				}
			}
		})
	}
}

func TestDumpOfAStoppedProcessLeavesItStopped(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{})
	kill(t, target.PID, syscall.SIGSTOP)
	eventually(t, "the target is stopped", func() bool { return stateOf(target.PID) == "T" })
	d := dump(t, target.PID)
	text := prywalk(t, "dump", "-p", strconv.Itoa(target.PID)).must(t, 0).stdout
	for _, tid := range threadsOf(target.PID) {
		eventually(t, "thread "+strconv.Itoa(tid)+" is stopped", func() bool { return stateOf(tid) == "T" })
	}
	for _, th := range d.Threads {
		if !th.Complete || !strings.Contains(text, strconv.Itoa(th.TID)) {
			t.Errorf("thread %d is incomplete or not in the text: stop reason %s, stack %q", th.TID, th.StopReason,
				th.stack())
		}
	}
	if !strings.Contains(text, "run_load") {
		t.Errorf("no run_load in the text:\n%s", clip(text))
	}
	kill(t, target.PID, syscall.SIGCONT)
	checkReleased(t, target)
}

func TestDumpMaxDepthCutsStacksAndReportsIt(t *testing.T) {
	target := testtargets.Run(t, "c", testtargets.Options{})
	for _, th := range dump(t, target.PID, "--max-depth", "1").Threads {
		if th.Complete || th.StopReason != "depth" {
			t.Errorf("thread %d: stop reason %s, want depth; stack %q", th.TID, th.StopReason, th.stack())
		}
	}
}

func TestDumpOfSeveralProcessesIsALineForEach(t *testing.T) {
	t.Parallel()
	one, two := testtargets.Run(t, "c", testtargets.Options{}), testtargets.Run(t, "go", testtargets.Options{})
	r := prywalk(t, "dump", "--json", "-p", pidList([]int{one.PID, two.PID})).must(t, 0)
	var pids []int
	for line := range strings.Lines(r.stdout) {
		var d dumped
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("line of dump --json: %v: %s", err, clip(line))
		}
		pids = append(pids, d.PID)
	}
	if !slices.Equal(pids, []int{one.PID, two.PID}) {
		t.Errorf("lines have the pids %v, want %d and %d", pids, one.PID, two.PID)
	}
}

func TestDoctorExaminesTheMachineAndAProcess(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{User: ordinary()})
	for _, args := range [][]string{{"doctor"}, {"doctor", "-p", strconv.Itoa(target.PID)}} {
		if r := (command{args: args, user: ordinary()}).run(t).must(t, 0); strings.Count(r.stdout, "\n") < 3 {
			t.Errorf("prywalk %v: want at least three lines: %q", args, r.stdout)
		}
	}
}

func TestDemoRecordsReportsAndWritesAPage(t *testing.T) {
	t.Parallel()
	dir := scratch(t, nil)
	r := command{args: []string{"demo"}, dir: dir}.run(t).must(t, 0)
	cause, _, _ := strings.Cut(r.stdout, "\n")
	if !strings.HasPrefix(cause, "mostly waiting: about 7 goroutines for sync.Mutex.Lock in (*shop).lookUpPrice") ||
		!strings.Contains(cause, "fetchPrice") {
		t.Errorf("the first line does not name the lock and the slow call under it: %q", clip(r.stdout))
	}
	if n := strings.Count(r.stdout+r.stderr, "mostly waiting: "); n != 1 {
		t.Errorf("the conclusion comes %d times: %q", n, clip(r.stdout+r.stderr))
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.html"))
	if len(pages) == 0 {
		t.Errorf("no *.html in %s; output: %q", dir, clip(r.stdout+r.stderr))
	}
}

func TestHelpShowsAnExampleFirst(t *testing.T) {
	for _, c := range []string{"record", "report", "dump", "doctor", "demo"} {
		r := prywalk(t, c, "--help").must(t, 0)
		i, j := strings.Index(r.stdout, "prywalk "+c), strings.Index(r.stdout, "--help")
		if i < 0 || j >= 0 && i > j {
			t.Errorf("%s --help: want an example before the flags: %q", c, clip(r.stdout))
		}
	}
}
