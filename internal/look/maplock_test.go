package look

import (
	"os/exec"
	"testing"
	"time"

	"prywalk/internal/code"
	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// TestTheLockOfTheMappingsIsAwaitedBeforeAStop: another thread holds it for most of the time. That a stop has waited
// for it makes the next looks wait before theirs.
func TestTheLockOfTheMappingsIsAwaitedBeforeAStop(t *testing.T) {
	exe, err := testtargets.Compile("maps.c", "-O1", "-pthread")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	proc, err := code.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	th := NewThread(cmd.Process.Pid, cmd.Process.Pid, procmem.NewBudget(8))
	defer th.Close()
	th.Memory = proc.Memory()
	OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		l := New(ctl, NewPool(4), Ladder)
		defer l.Close()
		awaited, frozen := looks(t, l, th, 0, func(_, frozen int) bool { return frozen >= 10 })
		if awaited != 0 || frozen == 0 {
			t.Errorf("%d of %d looks have waited for a lock that none is known to have met", awaited, frozen)
		}
		l.mappings.blame(ptrace.CauseCopy)
		if l.mappings.blame(ptrace.CauseLock); l.mappings.left != watchedFor {
			t.Errorf("the next %d looks wait before their stops, want %d", l.mappings.left, watchedFor)
		}
		awaited, frozen = looks(t, l, th, watchedFor, func(awaited, _ int) bool { return awaited > 0 })
		if awaited == 0 {
			t.Errorf("none of %d looks has waited before its stop", frozen)
		}
		t.Logf("%d of %d looks waited before their stops", awaited, frozen)
	})
}

// looks tries looks until there are enough, each with so many left that wait before their stops. It gives how many have
// waited, and how many have stopped the thread: on a busy machine it is seldom met running.
func looks(t *testing.T, l *Looker, th *Thread, left int, enough func(awaited, frozen int) bool) (awaited, frozen int) {
	done := func(_ *Thread, s *Shot, err error) {
		if err != nil {
			t.Error(err)
			return
		}
		if frozen++; s.Awaited > 0 {
			awaited++
		}
		if len(s.Mem.Stack.Bytes) == 0 || s.Awaited < 0 {
			t.Errorf("%d bytes of stack, %d ns awaited", len(s.Mem.Stack.Bytes), s.Awaited)
		}
		l.pool.Put(s)
	}
	for end := time.Now().Add(testtargets.Patience); !enough(awaited, frozen) && time.Now().Before(end); {
		l.mappings.left = left
		outcome, s, err := l.Begin(th)
		if err != nil {
			t.Error(err)
			return awaited, frozen
		}
		l.pool.Put(s)
		for outcome == Pending && l.Pending() > 0 {
			l.Collect(procmem.Now()+1e9, done)
		}
		procmem.SleepUntil(procmem.Now() + 1e6)
	}
	return awaited, frozen
}
