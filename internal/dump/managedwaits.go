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

// managedWaits asks the run-time systems about a sleeper, without Live, of run count runs; nil: there are none. later:
// a retry may give more.
type managedWaits func(s managed.Sleeper, runs uint64) (w waits.Wait, ok, later bool)

func managedWaitsOf(t *code.Process) managedWaits {
	if len(t.Runtimes().FrameSources()) == 0 {
		return nil
	}
	return func(s managed.Sleeper, runs uint64) (w waits.Wait, ok, later bool) {
		s.Live = &callstack.Live{ReadMemory: t.Read, PID: t.PID, TID: s.TID, RunCount: runs}
		s.TID = nsTID(t, s.TID)
		return callstack.WaitOf(t.Runtimes().FrameSources(), &s)
	}
}

func managedWaitsOfCore(c *core.Core) managedWaits {
	if len(c.Runtimes().FrameSources()) == 0 {
		return nil
	}
	return func(s managed.Sleeper, _ uint64) (w waits.Wait, ok, later bool) {
		s.Live = callstack.CoreMemory(c.Read)
		return callstack.WaitOf(c.Runtimes().FrameSources(), &s)
	}
}

// managedAsker gives [waits.Sleeper].Managed. Its first call requires the run count runs; later ones accept another
// sleep: a monitor's waiters wake now and then.
func (x *explainer) managedAsker(tid int, sl *waits.Sleeper, runs uint64, mem frames.Memory) func() (waits.Wait, bool) {
	word, timed, ok := waits.ManagedCall(sl.Wait, &sl.Args)
	if x.managed == nil || !sl.InCall || !ok {
		return nil
	}
	first := true
	s := managed.Sleeper{TID: tid, Word: word, Mem: mem, Timed: timed}
	return func() (waits.Wait, bool) {
		if !first && runs != 0 {
			runs, s.Mem = runsOf(x.pid, tid), nil
		}
		first = false
		w, ok, later := x.managed(s, runs)
		x.retryable = later
		return w, ok
	}
}

const (
	maxWaitRetries   = 200
	maxThreadRetries = 8
	waitRetryWait    = 4 * time.Millisecond
)

func (d *describer) retryWait(th *observe.Thread, t Thread) Thread {
	x := d.explainer
	for n := 0; x.retryable && n < maxThreadRetries && x.retries < maxWaitRetries && !d.options.Atomic &&
		!d.hasEnded(); n++ {
		x.retries++
		time.Sleep(waitRetryWait)
		s, err := sampleThread(th, d.options, observe.ModeAlwaysRead)
		if s == nil || err != nil {
			break
		}
		t = describeThread(d.target, d.walk, th.TID, s)
		x.explain(&t, s)
	}
	return t
}

// runsOf returns a thread's run count; 0: unreadable.
func runsOf(pid, tid int) uint64 {
	f := procmem.OpenThread(pid, tid, nil)
	defer f.Close()
	now, err := f.SchedStat()
	if err != nil {
		return 0
	}
	return now.Runs
}
