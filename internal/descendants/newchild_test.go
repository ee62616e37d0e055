// SPDX-License-Identifier: Apache-2.0

package descendants

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/procmem"
)

// listed is a /proc of processes and threads by number.
type listed map[int]procmem.Stat

// newChildrenOf gives a Newborns that reads such a /proc. Process 100 was met, as "shell".
func newChildrenOf(l listed) *NewChildren[string, []int64] {
	n := MakeNewChildren[string, []int64](nil)
	n.stat = func(f *procmem.ThreadFiles, s *procmem.Stat) error {
		var ok bool
		if *s, ok = l[f.TID()]; !ok {
			return errors.New("gone")
		}
		return nil
	}
	n.parent = func(pid int) (int, bool) { return l[pid].PPID, l[pid].PID == pid && l[pid].State != 'Z' }
	n.clock = func(pid int) (uint64, error) { return l[pid].UTime * 1e6, nil }
	n.Attach(100, "shell")
	n.Created(1000, 0)
	return n
}

// ended gives those that a tick finds to have ended. It marks those that run with its moment.
func ended(n *NewChildren[string, []int64], now int64) (out []*NewChild[string, []int64]) {
	mark := func(y *NewChild[string, []int64], _ *procmem.Stat) { y.Kept = append(y.Kept, now) }
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

// TestNewDescendantsAreMarked: children of a process that was met, and theirs, as often as ticks find them running.
// Others' children, sleepers, zombies and threads are not.
func TestNewDescendantsAreMarked(t *testing.T) {
	thread := procmem.Stat{PID: 1003, PPID: 100, State: 'R', Threads: 4, StartTime: 9}
	l := listed{
		1001: process(1001, 100, 'R'), 1002: process(1002, 7, 'R'), 1004: thread, 1005: process(1005, 1001, 'S'),
		1006: process(1006, 100, 'Z'),
	}
	n := newChildrenOf(l)
	n.Created(1006, 1)
	if got := ended(n, 1); len(got) != 0 || len(n.young) != 2 {
		t.Fatalf("%v, %v", got, n.young)
	}
	l[1005] = process(1005, 1001, 'R')
	ended(n, 2)
	l[1001] = process(1001, 100, 'S')
	ended(n, 3)
	delete(l, 1001)
	l[1005] = process(1005, 1, 'Z') // its parent has ended; nobody has waited for it
	got := ended(n, 4)
	if len(got) != 1 || got[0].PID != 1001 || got[0].Waiter != "shell" || len(got[0].Kept) != 2 {
		t.Fatalf("%+v", got)
	}
	if got[0].Kept[1] != 2 {
		t.Errorf("%v", got[0].Kept)
	}
	delete(l, 1005)
	if got = ended(n, 5); len(got) != 1 || got[0].Waiter != "shell" || len(got[0].Kept) != 2 {
		t.Fatalf("%+v", got)
	}
	if !n.None() {
		t.Errorf("%v are left", n.young)
	}
	if allocs := testing.AllocsPerRun(10, func() { n.Created(n.last, 6) }); allocs != 0 {
		t.Errorf("%.0f allocations where nobody is born", allocs)
	}
}

// TestWhatANewbornProcessUsedIsKnown: up to when it was last asked after, on a processor or not, by what it ran then.
func TestWhatANewbornProcessUsedIsKnown(t *testing.T) {
	l := listed{}
	n := newChildrenOf(l)
	at := func(now int64, state byte, name string, ms uint64) {
		var p procmem.Stat
		line := fmt.Sprintf("1001 (%s) %c 100 0 0 0 0 0 0 0 0 0 %d 0 0 0 0 0 1 0 7", name, state, ms)
		if err := procmem.ParseStat([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		l[1001] = p
		n.Created(1001, now)
		ended(n, now)
	}
	at(1, 'S', "sh", 0)
	at(2, 'R', "sh", 1)
	at(3, 'S', "ls", 3)
	at(4, 'S', "ls", 3)
	at(5, 'Z', "ls", 4)
	delete(l, 1001)
	got := ended(n, 6)
	if want := []Use{{"sh", 1e6}, {"ls", 3e6}}; len(got) != 1 || !slices.Equal(got[0].Used, want) {
		t.Fatalf("%+v", got)
	}
	n.last = 1000                  // another one has the number
	for i := range 3 * mostNames { // it calls exec again and again
		at(10, 'S', strings.Repeat("x", i+1), uint64(i+1))
	}
	if y := n.young[1001]; len(y.Used) != mostNames || y.cpu != 3*mostNames*1e6 {
		t.Errorf("%+v", y)
	}
}

// TestADiscoveredProcessIsNotNewAnyMore: its own account has its time. Its children's goes to it from then on.
func TestADiscoveredProcessIsNotNewAnyMore(t *testing.T) {
	l := listed{1001: process(1001, 100, 'R'), 1002: process(1002, 1001, 'R')}
	n := newChildrenOf(l)
	n.Created(1002, 1)
	ended(n, 1)
	if y := n.Attach(1001, "make"); y == nil || len(y.Kept) != 1 || n.Attach(7, "other") != nil {
		t.Errorf("%+v", y)
	}
	clear(l)
	if got := ended(n, 2); len(got) != 1 || got[0].PID != 1002 || got[0].Waiter != "make" {
		t.Fatalf("%+v", got)
	}
	n.Forget(1001, "another")
	if n.attached[1001] != "make" {
		t.Error("who had the number before has ended, not it")
	}
	if n.Forget(1001, "make"); len(n.attached) != 2 {
		t.Errorf("%v", n.attached)
	}
}

// TestNumbersThatComeRoundAreFound, and those of others with the same number are not taken for the same.
func TestNumbersThatComeRoundAreFound(t *testing.T) {
	l := listed{301: process(301, 100, 'R')}
	n := newChildrenOf(l)
	n.Created(302, 1)
	if ended(n, 1); len(n.young) != 1 {
		t.Fatalf("%v", n.young)
	}
	next := process(301, 7, 'R')
	next.StartTime = 99999
	l[301] = next
	if got := ended(n, 2); len(got) != 1 || len(got[0].Kept) != 1 {
		t.Fatalf("%+v", got)
	}
}

// TestStrangersAreNotWaitedFor: only of kin is that read which waits for an exec. Whoever has stopped is served before
// each question.
func TestStrangersAreNotWaitedFor(t *testing.T) {
	l := listed{1001: process(1001, 100, 'R'), 1002: process(1002, 7, 'R'), 1003: process(1003, 1001, 'S')}
	n := newChildrenOf(l)
	var read []int
	between, stat := 0, n.stat
	n.stat = func(f *procmem.ThreadFiles, s *procmem.Stat) error {
		read = append(read, f.TID())
		return stat(f, s)
	}
	n.Between(func() { between++ })
	pinned, most := 0, 0
	n.Pinned(func() { pinned++; most = max(most, pinned) }, func() { pinned-- })
	if n.Created(1003, 1); !slices.Equal(read, []int{1001, 1003}) || between != 3 {
		t.Errorf("%v are read, others are served %d times", read, between)
	}
	if ended(n, 1); between != 5 {
		t.Errorf("others are served %d times", between)
	}
	if pinned != 0 || most != 1 {
		t.Errorf("the caller keeps its turn %d times at once, %d times for good", most, pinned)
	}
}

// TestManyBirthsAreAskedInPart: a bounded number, with the youngest, at any distance.
func TestManyBirthsAreAskedInPart(t *testing.T) {
	for _, many := range []int{1, mostNumbers, mostNumbers + 1, 10*mostNumbers - 1, 1 << 22} {
		asked := map[int]bool{}
		n := newChildrenOf(listed{})
		n.parent = func(pid int) (int, bool) {
			asked[pid] = true
			return 0, false
		}
		n.Created(1000+many, 1)
		if len(asked) > mostNumbers || len(asked) < min(many, mostNumbers/2) || !asked[1000+many] || asked[1000] {
			t.Errorf("%d of %d are asked", len(asked), many)
		}
	}
	l := listed{}
	for i := range 2 * mostNewChildren {
		l[1001+i] = process(1001+i, 100, 'R')
	}
	n := newChildrenOf(l)
	for i := range 2 * mostNewChildren {
		n.Created(1001+i, 1)
	}
	if len(n.young) != mostNewChildren {
		t.Errorf("%d are known", len(n.young))
	}
}

// TestWhoIsNotOpenedForLongIsAskedRarely: one that this user may not open, or that is opened late.
func TestWhoIsNotOpenedForLongIsAskedRarely(t *testing.T) {
	l := listed{1001: process(1001, 100, 'R')}
	n := newChildrenOf(l)
	asked := 0
	stat := n.stat
	n.stat = func(f *procmem.ThreadFiles, s *procmem.Stat) error {
		asked++
		return stat(f, s)
	}
	n.Created(1001, 0)
	for now := int64(0); now < 2e9; now += 10e6 {
		ended(n, now)
	}
	if asked > 1+21+37 {
		t.Errorf("asked %d times", asked)
	}
	if y := n.young[1001]; y == nil || len(y.Kept) != 21 {
		t.Errorf("%+v", y)
	}
	if got := ended(n, lastingFor+1); len(got) != 0 || len(n.young) != 0 {
		t.Errorf("%v, %v", got, n.young)
	}
}

// TestNewProcessIsFoundByItsNumber: a real one, which waits to be told to end.
func TestNewProcessIsFoundByItsNumber(t *testing.T) {
	births, err := procmem.OpenPIDCounter()
	if err != nil {
		t.Fatal(err)
	}
	defer births.Close()
	n := MakeNewChildren[string, []int64](nil)
	n.Attach(os.Getpid(), "test")
	found := false
	for try := 0; try < 20 && !found; try++ { // so many may be born at once that it is not asked for
		births.Advanced()
		n.Created(births.Last(), 1)
		cmd := exec.Command("cat")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		births.Advanced()
		n.Created(births.Last(), 2)
		y := n.young[cmd.Process.Pid]
		found = y != nil && y.Waiter == "test"
		_ = stdin.Close() // which ends it
		_ = cmd.Wait()    // with an error or not: it is gone
	}
	if !found {
		t.Error("none of 20 processes was found")
	}
}

// TestChildrenThatNeverCallExecAreKnown: when so many of their parent's have ended without it, and none has called it.
func TestChildrenThatNeverCallExecAreKnown(t *testing.T) {
	l := listed{}
	n := newChildrenOf(l)
	pid := 1000
	lives := func(parent int, calls bool) {
		pid++
		s := process(pid, parent, 'R')
		s.Flags = beforeExec
		l[pid] = s
		n.Created(pid, 1)
		ended(n, 1)
		if s.State = 'Z'; calls {
			s.Flags = 0
		}
		l[pid] = s
		ended(n, 2)
		ended(n, 3) // it counts once
		delete(l, pid)
		ended(n, 4)
	}
	may := func(parent int) bool {
		s := procmem.Stat{Flags: beforeExec}
		return n.MayExec(&NewChild[string, []int64]{parent: parent}, &s)
	}
	for i := range leastForks {
		if !may(100) {
			t.Fatalf("after %d children", i)
		}
		lives(100, false)
	}
	if may(100) || n.MayExec(&NewChild[string, []int64]{parent: 7}, &procmem.Stat{}) || !may(7) {
		t.Error("of its children it is not known, or of others'")
	}
	lives(100, true)
	if !may(100) {
		t.Error("one has called exec")
	}
	if n.Execed(100); len(n.forks) != 0 {
		t.Errorf("%v", n.forks)
	}
	lives(100, false)
	if n.Forget(100, "shell"); len(n.forks) != 0 {
		t.Errorf("%v", n.forks)
	}
}
