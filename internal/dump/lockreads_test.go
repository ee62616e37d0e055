package dump

import (
	"testing"

	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// TestALockCostsOneReadANewSleep: none for a condition, for other calls, and while it sleeps on. Static variables lie in
// a file's mapping, of which the kernel is asked first whether the page is there: two calls.
func TestALockCostsOneReadANewSleep(t *testing.T) {
	p := startProgram(t, compile(t, "locks.c", "-g", "-O1", "-pthread"), nil)
	check(t, liveLook(t, p.pid), rowsOf(p.numbers[0]))
	c, err := code.Open(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	type cost struct{ calls, bytes uint64 }
	costs, again := map[string]cost{}, map[string]cost{}
	for _, th := range liveLook(t, p.pid)().Threads {
		look.OnThread(func() {
			ctl := ptrace.NewController(ptrace.Options{})
			defer ctl.Close()
			l := look.New(ctl, look.NewPool(8), look.OnlyPeek)
			lt := look.NewThread(c.PID, th.TID, procmem.NewBudget(64))
			defer lt.Close()
			lt.Memory = c.Memory()
			measure := func() (cost, look.Outcome, error) {
				calls, bytes := procmem.Calls(), procmem.Copied()
				outcome, _, err := l.Begin(lt)
				return cost{uint64(procmem.Calls() - calls), uint64(procmem.Copied() - bytes)}, outcome, err
			}
			first, outcome, err := measure()
			if err != nil || outcome != look.Done {
				t.Errorf("%s: outcome %d, %v", th.Name, outcome, err)
			}
			costs[th.Name] = first
			if again[th.Name], outcome, err = measure(); err != nil || outcome != look.Reused {
				t.Errorf("%s, again: outcome %d, %v", th.Name, outcome, err)
			}
		})
	}
	plain := costs["pipe"]
	for name, want := range map[string]uint64{"normal": 2, "robust": 2, "pi": 2, "join": 1, "rdlock": 2, "cond": 0, "sem": 0, "eventfd": 0, "sleep": 0} {
		if got := costs[name]; got.calls != plain.calls+want {
			t.Errorf("%s: %d calls, a sleeper in read %d; want %d more", name, got.calls, plain.calls, want)
		}
		if again[name] != again["pipe"] {
			t.Errorf("%s, again: %+v, a sleeper in read %+v", name, again[name], again["pipe"])
		}
	}
}
