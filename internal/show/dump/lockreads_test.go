// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

// Of a static variable, the kernel also says whether its page is present.
func TestALockCostsFewReadsANewSleep(t *testing.T) {
	p := startLocks(t)
	check(t, p.pid, rowsOf(p.numbers[0], locksInC))
	c, err := loadedcode.Open(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	type cost struct{ calls, bytes uint64 }
	costs, again := map[string]cost{}, map[string]cost{}
	threads := stillSample(t, p.pid).Threads
	for i := range 2 * len(threads) {
		th := &threads[i%len(threads)]
		procmem.OnOSThread(func() {
			ctl := ptrace.NewController(ptrace.Options{})
			defer ctl.Close()
			l := observe.New(ctl, observe.NewPool(8), observe.ModePassiveOnly)
			lt := observe.NewThread(c.PID, th.TID, procmem.NewFDBudget(64))
			defer lt.Close()
			lt.Memory = c.Memory()
			measure := func() (cost, observe.Outcome, error) {
				calls, bytes := procmem.Calls(), procmem.Copied()
				outcome, _, err := l.Begin(lt)
				return cost{uint64(procmem.Calls() - calls), uint64(procmem.Copied() - bytes)}, outcome, err
			}
			first, outcome, err := measure()
			if err != nil || outcome != observe.Done {
				t.Errorf("%s: outcome %d, %v", th.Name, outcome, err)
			}
			costs[th.Name] = first
			if again[th.Name], outcome, err = measure(); err != nil || outcome != observe.Unchanged {
				t.Errorf("%s, again: outcome %d, %v", th.Name, outcome, err)
			}
		})
	}
	plain := costs["pipe"]
	t.Logf("a sleeper in read: %d calls, %d bytes; at a mutex: %d, %d", plain.calls, plain.bytes, costs["normal"].calls,
		costs["normal"].bytes)
	for name, want := range map[string]uint64{"normal": 2, "robust": 2, "pi": 2, "join": 1, "rdlock": 2, "cond": 0,
		"sem": 0, "eventfd": 0, "sleep": 0} {
		if got := costs[name]; got.calls != plain.calls+want {
			t.Errorf("%s: %d calls, a sleeper in read %d; want %d more", name, got.calls, plain.calls, want)
		}
		if again[name] != again["pipe"] {
			t.Errorf("%s, again: %+v, a sleeper in read %+v", name, again[name], again["pipe"])
		}
	}
}
