// SPDX-License-Identifier: Apache-2.0

package sleepers

import (
	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/core"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// managedWaits asks the runtimes about the wait of thread tid at run count runs. It sets q's Live and InnerTID. later:
// a retry may explain the wait.
type managedWaits func(tid int, q managed.WaitQuery, runs uint64) (w waits.Wait, ok, later bool)

func managedWaitsOf(t *loadedcode.Process) managedWaits {
	if len(t.Runtimes().FrameSources()) == 0 {
		return nil
	}
	return func(tid int, q managed.WaitQuery, runs uint64) (w waits.Wait, ok, later bool) {
		q.Live = &callstack.Live{ReadMemory: t.Read, PID: t.PID, TID: tid, RunCount: runs}
		q.InnerTID = walk.InnerTID(t, tid)
		return callstack.WaitOf(t.Runtimes().FrameSources(), &q)
	}
}

func managedWaitsOfCore(c *core.Core) managedWaits {
	if len(c.Runtimes().FrameSources()) == 0 {
		return nil
	}
	return func(tid int, q managed.WaitQuery, _ uint64) (w waits.Wait, ok, later bool) {
		// The kernel's cores have the IDs of the pid namespace, gdb's those that gdb sees.
		q.Live, q.InnerTID, q.Still = callstack.CoreMemory(c.Read), tid, true
		return callstack.WaitOf(c.Runtimes().FrameSources(), &q)
	}
}

// managedAsker returns [waits.Sleeper].Managed. Only its first call requires run count runs: a monitor's waiters wake
// now and then.
func (e *Explainer) managedAsker(tid int, sl *waits.Sleeper, runs uint64, mem frames.Memory) func() (waits.Wait, bool) {
	word, timed, ok := waits.RuntimeWaitCall(sl.Reason, &sl.Args)
	if e.managed == nil || !sl.InCall || !ok {
		return nil
	}
	first := true
	q := managed.WaitQuery{Word: word, Mem: mem, Timed: timed}
	return func() (waits.Wait, bool) {
		if !first && runs != 0 {
			runs, q.Mem = RunsOf(e.pid, tid), nil
		}
		first = false
		w, ok, later := e.managed(tid, q, runs)
		e.Retryable = later
		return w, ok
	}
}

// RunsOf returns a thread's run count, 0 if it has ended.
func RunsOf(pid, tid int) uint64 {
	f := procmem.OpenThread(pid, tid, nil)
	defer f.Close()
	sched, err := f.SchedStat()
	if err != nil {
		return 0
	}
	return sched.Runs
}
