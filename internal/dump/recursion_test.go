// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/budget"
	"prywalk/internal/code"
	"prywalk/internal/schema"
	"prywalk/internal/testtargets"
)

func calls(names ...string) (out []Frame) {
	known := map[string]*Place{}
	for i, n := range names {
		if known[n] == nil {
			known[n] = &Place{Function: n, Module: "/bin/x", Method: "cfi"}
		}
		out = append(out, Frame{PC: 1, SP: schema.Hex(16 * i), Place: known[n]})
	}
	return out
}

func TestARepeatedCycleIsOneLineBetweenItsEnds(t *testing.T) {
	for _, c := range []struct {
		stack []string
		line  string // "": all frames are shown
		lines int
	}{
		{slices.Repeat([]string{"f", "g"}, 450_000), "… 899,980 frames: f ← g, 449,990 times", 21},
		{slices.Concat([]string{"leaf"}, slices.Repeat([]string{"f"}, 1000), []string{"main"}),
			"… 980 frames: f, 980 times", 23},
		{slices.Concat([]string{"a", "b", "c", "x"}, slices.Repeat([]string{"a", "b", "c"}, 100), []string{"main"}),
			"… 279 frames: b ← c ← a, 93 times", 27},
		{slices.Repeat([]string{"f", "g"}, 30), "", 60},
		{slices.Concat(slices.Repeat([]string{"f"}, 500), slices.Repeat([]string{"g", "h"}, 500)),
			"… 480 frames: f, 480 times", 42},
	} {
		var b strings.Builder
		writeStack(&b, &Thread{Frames: calls(c.stack...), Complete: true}, false)
		text := b.String()
		if n := strings.Count(text, "\n"); n != c.lines || !strings.Contains(text, c.line) {
			t.Errorf("%d calls: %d lines, want %d with %q:\n%s", len(c.stack), n, c.lines, c.line, text[:min(len(text), 2000)])
		}
		if last := fmt.Sprintf("#%d ", len(c.stack)-1); !strings.Contains(text, last) {
			t.Errorf("%d calls: %s is missing", len(c.stack), last)
		}
	}
}

func TestStacksWithoutACycleAreShownWhole(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprint("f", i*i%97, i%31))
	}
	var b strings.Builder
	writeStack(&b, &Thread{Frames: calls(names...), Complete: true}, false)
	if n := strings.Count(b.String(), "\n"); n != 500 {
		t.Errorf("%d lines of 500", n)
	}
}

func TestJSONInPartsIsTheSame(t *testing.T) {
	for _, p := range []*Process{
		{PID: 1, Threads: []Thread{}},
		{PID: 7, Threads: []Thread{{TID: 7, Name: `"frames":null`, Frames: calls("a", `"threads":null`)},
			{TID: 8, Frames: []Frame{}}},
			Tasks: []Task{{Name: "t", Frames: []Frame{}}}},
	} {
		want, err := json.Marshal(p)
		var b strings.Builder
		if err = cmpErr(err, JSON(&b, p)); err != nil || b.String() != string(want)+"\n" {
			t.Errorf("%v\n%s\n%s", err, b.String(), want)
		}
	}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func runaway(t *testing.T, calls string) int {
	t.Helper()
	cmd := exec.Command(compile(t, "runaway.c", "-O1", "-fno-optimize-sibling-calls", "-pthread"), calls)
	testtargets.Ready(t, cmd)
	return cmd.Process.Pid
}

func sampleWith(t *testing.T, pid int, total int64, o Options) *Process {
	t.Helper()
	budget.Process().SetTotal(total)
	t.Cleanup(func() { budget.Process().SetTotal(budget.DefaultTotal) })
	target, err := code.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	o.MaxDepth = -1
	p, err := Sample(target, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFourThreadsOf900000FramesAreWholeWithinTheBudget(t *testing.T) {
	pid := runaway(t, "900000")
	p := sampleWith(t, pid, budget.DefaultTotal, Options{})
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	for i := range p.Threads {
		if th := &p.Threads[i]; !th.Complete || len(th.Frames) < 900_000 && th.TID != pid {
			t.Errorf("thread %d: %d frames, %s", th.TID, len(th.Frames), th.StopReason)
		}
	}
	if mem.HeapAlloc > budget.DefaultTotal/2 || len(p.Threads) != 5 {
		t.Errorf("%d bytes for the stacks of %d threads", mem.HeapAlloc, len(p.Threads))
	}
	var b strings.Builder
	if err := Text(&b, p); err != nil || strings.Count(b.String(), "\n") > 200 ||
		strings.Count(b.String(), "… 899,980 frames") != 4 {
		t.Errorf("%v, %d lines", err, strings.Count(b.String(), "\n"))
	}
	p.Close()
	p = sampleWith(t, pid, 64<<20, Options{})
	defer p.Close()
	left := budget.Process().Refusals()
	if peak := p.memory.Used(); peak > 32<<20 || !strings.Contains(left, fmt.Sprintf("stacks of process %d", pid)) {
		t.Errorf("%d bytes taken; %q", peak, left)
	}
	for i := range p.Threads {
		if th := &p.Threads[i]; th.TID != pid && (th.Complete || len(th.Frames) == 0) {
			t.Errorf("thread %d: %d frames, %s", th.TID, len(th.Frames), th.StopReason)
		}
	}
}

func TestMaxPauseCutsTheStacksOfRunningThreadsOnly(t *testing.T) {
	pid := runaway(t, "300000")
	whole := sampleWith(t, pid, budget.DefaultTotal, Options{})
	p := sampleWith(t, pid, budget.DefaultTotal, Options{MaxPause: time.Millisecond})
	defer whole.Close()
	defer p.Close()
	cut := 0
	for i := range p.Threads {
		th := &p.Threads[i]
		switch {
		case th.How == "freeze" && th.StopReason == "stack-cut":
			cut++
			if bytes := th.Frames[len(th.Frames)-2].SP - th.Frames[0].SP; bytes > 16<<20 {
				t.Errorf("%d bytes were copied in a stop of a millisecond", bytes)
			}
		case !th.Complete:
			t.Errorf("thread %d, %s: %s", th.TID, th.How, th.StopReason)
		}
	}
	if cut+int(p.Failed["max-pause"]) != 1 {
		t.Errorf("%d stacks of running threads were cut, failed %v", cut, p.Failed)
	}
	for i := range whole.Threads {
		if th := &whole.Threads[i]; !th.Complete {
			t.Errorf("without a limit thread %d: %s", th.TID, th.StopReason)
		}
	}
}
