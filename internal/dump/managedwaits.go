// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/core"
	"prywalk/internal/managed"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/waits"
)

// managedWaits asks the run-time systems about a thread that sleeps at a word and has the run count runs; nil: there
// are none. later: a retry may give more.
type managedWaits func(tid int, word, runs uint64, mem frames.Memory) (w waits.Wait, ok, later bool)

func managedWaitsOf(t *code.Process) managedWaits {
	if len(t.Runtimes().Namers()) == 0 {
		return nil
	}
	return func(tid int, word, runs uint64, mem frames.Memory) (w waits.Wait, ok, later bool) {
		live := &callstack.Live{Mem: t.Read, PID: t.PID, TID: tid, Runs: runs}
		return callstack.Waiting(t.Runtimes().Namers(),
			&managed.Sleeper{TID: innerTID(t, tid), Word: word, Mem: mem, Live: live})
	}
}

func managedWaitsOfCore(c *core.Core) managedWaits {
	if len(c.Runtimes().Namers()) == 0 {
		return nil
	}
	return func(tid int, word, _ uint64, mem frames.Memory) (w waits.Wait, ok, later bool) {
		return callstack.Waiting(c.Runtimes().Namers(),
			&managed.Sleeper{TID: tid, Word: word, Mem: mem, Live: callstack.Still(c.Read)})
	}
}

// managedAsker gives [waits.Sleeper].Managed. Its first call requires the run count runs; later ones accept another
// sleep, since a monitor's waiters wake now and then.
func (x *explainer) managedAsker(tid int, sl *waits.Sleeper, runs uint64, mem frames.Memory) func() (waits.Wait, bool) {
	word, ok := waits.FutexWord(&sl.Args)
	if x.managed == nil || sl.Wait != "futex" || !sl.InCall || !ok {
		return nil
	}
	first := true
	return func() (waits.Wait, bool) {
		if !first && runs != 0 {
			runs, mem = runsOf(x.pid, tid), nil
		}
		first = false
		w, ok, later := x.managed(tid, word, runs, mem)
		x.later = later
		return w, ok
	}
}

// Bounds of retries, in total and per thread, and the pause before each.
const (
	maxWaitRetries   = 200
	maxThreadRetries = 8 // of one thread
	waitRetryWait    = 4 * time.Millisecond
)

// retryWait samples a thread again while a retry may give what it waits for.
func (d *describer) retryWait(th *observe.Thread, t Thread) Thread {
	x := d.explain
	for n := 0; x.later && n < maxThreadRetries && x.asked < maxWaitRetries && !d.options.Atomic && !d.hasEnded(); n++ {
		x.asked++
		time.Sleep(waitRetryWait)
		s, err := sampleThread(th, d.options, observe.ModeNoReuse)
		if s == nil || err != nil {
			break
		}
		t = describeThread(d.target, d.walk, th.TID, s)
		x.explain(&t, s)
	}
	return t
}

// runsOf gives a thread's run count now; 0 if unreadable.
func runsOf(pid, tid int) uint64 {
	f := procmem.OpenThread(pid, tid, nil)
	defer f.Close()
	now, err := f.SchedStat()
	if err != nil {
		return 0
	}
	return now.Runs
}
