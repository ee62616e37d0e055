// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"

	"prywalk/internal/host/procmem"
)

type listed map[int]procmem.Stat

// Process 100 is discovered, as "shell".
func newChildrenOf(l listed) *ChildFinder[string, []int64] {
	n := NewChildFinder[string, []int64](nil)
	n.stat = func(f *procmem.ThreadFiles, s *procmem.Stat) error {
		var ok bool
		if *s, ok = l[f.TID()]; !ok {
			return errors.New("gone")
		}
		return nil
	}
	n.parent = func(pid int) (int, bool) { return l[pid].PPID, l[pid].PID == pid && l[pid].State != 'Z' }
	n.Track(100, "shell")
	n.Search(1000, 0)
	return n
}

func ended(n *ChildFinder[string, []int64], now int64) (out []*Child[string, []int64]) {
	mark := func(y *Child[string, []int64], _ *procmem.Stat) { y.Value = append(y.Value, now) }
	for y, over := range n.Tick(now, mark) {
		if !over {
			out = append(out, y)
		}
	}
	return out
}

func process(pid, parent int, state byte) procmem.Stat {
	return procmem.Stat{PID: pid, PPID: parent, State: state, Threads: 1, StartTime: uint64(pid)}
}

func TestRunningDescendantsAreSampled(t *testing.T) {
	thread := procmem.Stat{PID: 1003, PPID: 100, State: 'R', Threads: 4, StartTime: 9}
	l := listed{
		1001: process(1001, 100, 'R'), 1002: process(1002, 7, 'R'), 1004: thread, 1005: process(1005, 1001, 'S'),
		1006: process(1006, 100, 'Z'),
	}
	n := newChildrenOf(l)
	n.Search(1006, 1)
	if got := ended(n, 1); len(got) != 0 || len(n.children) != 2 {
		t.Fatalf("ended %v, new %v; want none ended, two new", got, n.children)
	}
	l[1005] = process(1005, 1001, 'R')
	ended(n, 2)
	l[1001] = process(1001, 100, 'S')
	ended(n, 3)
	delete(l, 1001)
	l[1005] = process(1005, 1, 'Z') // init has not waited for it
	got := ended(n, 4)
	if len(got) != 1 || got[0].PID != 1001 || got[0].Ancestor != "shell" || len(got[0].Value) != 2 {
		t.Fatalf("ended %+v, want 1001 of shell with two marks", got)
	}
	if got[0].Value[1] != 2 {
		t.Errorf("marks %v, want the second at 2", got[0].Value)
	}
	delete(l, 1005)
	if got = ended(n, 5); len(got) != 1 || got[0].Ancestor != "shell" || len(got[0].Value) != 2 {
		t.Fatalf("ended %+v, want the grandchild of shell with two marks", got)
	}
	if !n.Empty() {
		t.Errorf("new processes %v are kept, want none", n.children)
	}
	if allocs := testing.AllocsPerRun(10, func() { n.Search(n.last, 6) }); allocs != 0 {
		t.Errorf("%.0f allocations without a new process, want 0", allocs)
	}
}

func TestDiscoveredProcessIsNoLongerANewChild(t *testing.T) {
	l := listed{1001: process(1001, 100, 'R'), 1002: process(1002, 1001, 'R')}
	n := newChildrenOf(l)
	n.Search(1002, 1)
	ended(n, 1)
	if y := n.Track(1001, "make"); y == nil || len(y.Value) != 1 || n.Track(7, "other") != nil {
		t.Errorf("Attach returns %+v, want the new child with one mark, and nil for an unknown PID", y)
	}
	clear(l)
	if got := ended(n, 2); len(got) != 1 || got[0].PID != 1002 || got[0].Ancestor != "make" {
		t.Fatalf("ended %+v, want 1002 of make", got)
	}
	n.Forget(1001, "another")
	if n.tracked[1001] != "make" {
		t.Error("the process is forgotten with another owner of its PID")
	}
	if n.Forget(1001, "make"); len(n.tracked) != 2 {
		t.Errorf("tracked %v, want 2", n.tracked)
	}
}

func TestReusedPIDIsAnotherProcess(t *testing.T) {
	l := listed{301: process(301, 100, 'R')}
	n := newChildrenOf(l)
	n.Search(302, 1)
	if ended(n, 1); len(n.children) != 1 {
		t.Fatalf("new processes %v, want 1", n.children)
	}
	next := process(301, 7, 'R')
	next.StartTime = 99999
	l[301] = next
	if got := ended(n, 2); len(got) != 1 || len(got[0].Value) != 1 {
		t.Fatalf("ended %+v, want one with one mark", got)
	}
}

func TestOnlyDescendantsAreReadWithWaits(t *testing.T) {
	l := listed{1001: process(1001, 100, 'R'), 1002: process(1002, 7, 'R'), 1003: process(1003, 1001, 'S')}
	n := newChildrenOf(l)
	var read []int
	between, stat := 0, n.stat
	n.stat = func(f *procmem.ThreadFiles, s *procmem.Stat) error {
		read = append(read, f.TID())
		return stat(f, s)
	}
	n.BeforeRead = func() { between++ }
	pinned, most := 0, 0
	n.Pin, n.Unpin = func() { pinned++; most = max(most, pinned) }, func() { pinned-- }
	if n.Search(1003, 1); !slices.Equal(read, []int{1001, 1003}) || between != 3 {
		t.Errorf("read %v, Between called %d times; want 1001 and 1003, 3 times", read, between)
	}
	if ended(n, 1); between != 5 {
		t.Errorf("Between called %d times, want 5", between)
	}
	if pinned != 0 || most != 1 {
		t.Errorf("pinned %d times at once and %d times in the end, want 1 and 0", most, pinned)
	}
}

func TestManyNewProcessesAreReadInPart(t *testing.T) {
	for _, many := range []int{1, maxNumbers, maxNumbers + 1, 10*maxNumbers - 1, 1 << 22} {
		read := map[int]bool{}
		n := newChildrenOf(listed{})
		n.parent = func(pid int) (int, bool) {
			read[pid] = true
			return 0, false
		}
		n.Search(1000+many, 1)
		if len(read) > maxNumbers || len(read) < min(many, maxNumbers/2) || !read[1000+many] || read[1000] {
			t.Errorf("%d of %d PIDs are read, want %d at most, with the last", len(read), many, maxNumbers)
		}
	}
	l := listed{}
	for i := range 2 * maxNewChildren {
		l[1001+i] = process(1001+i, 100, 'R')
	}
	n := newChildrenOf(l)
	for i := range 2 * maxNewChildren {
		n.Search(1001+i, 1)
	}
	if len(n.children) != maxNewChildren {
		t.Errorf("%d new children are kept, want %d", len(n.children), maxNewChildren)
	}
}

func TestProcessThatStaysUntrackedIsReadRarely(t *testing.T) {
	l := listed{1001: process(1001, 100, 'R')}
	n := newChildrenOf(l)
	read := 0
	stat := n.stat
	n.stat = func(f *procmem.ThreadFiles, s *procmem.Stat) error {
		read++
		return stat(f, s)
	}
	n.Search(1001, 0)
	for now := int64(0); now < 2e9; now += 10e6 {
		ended(n, now)
	}
	if read > 1+21+37 {
		t.Errorf("read %d times, want at most %d", read, 1+21+37)
	}
	if y := n.children[1001]; y == nil || len(y.Value) != 21 {
		t.Errorf("process %+v, want 21 marks", y)
	}
	if got := ended(n, lastingFor+1); len(got) != 0 || len(n.children) != 0 {
		t.Errorf("ended %v, new %v; want none of both", got, n.children)
	}
}

func TestNewProcessIsFoundByItsPID(t *testing.T) {
	births, err := procmem.OpenPIDCounter()
	if err != nil {
		t.Fatal(err)
	}
	defer births.Close()
	n := NewChildFinder[string, []int64](nil)
	n.Track(os.Getpid(), "test")
	found := false
	for try := 0; try < 20 && !found; try++ {
		births.Advanced()
		n.Search(births.Last(), 1)
		cmd := exec.Command("cat")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		births.Advanced()
		n.Search(births.Last(), 2)
		y := n.children[cmd.Process.Pid]
		found = y != nil && y.Ancestor == "test"
		_ = stdin.Close()
		_ = cmd.Wait()
	}
	if !found {
		t.Error("none of 20 new processes was found")
	}
}
