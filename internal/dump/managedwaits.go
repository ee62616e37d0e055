// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/core"
	"prywalk/internal/look"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
	"prywalk/internal/waits"
)

// managedWaits asks the run-time systems about a thread that sleeps at a word; nil: there are none. later: more may be
// told a little later.
type managedWaits func(tid int, word, runs uint64, mem frames.Memory) (w waits.For, ok, later bool)

// managedOf asks the run-time systems of a process what a thread waits for. runs is its run count, and must be that
// still afterwards.
func managedOf(t *code.Process) managedWaits {
	if len(t.Namers()) == 0 {
		return nil
	}
	return func(tid int, word, runs uint64, mem frames.Memory) (w waits.For, ok, later bool) {
		live := &callstack.Live{Mem: t.Read, PID: t.PID, TID: tid, Runs: runs}
		return callstack.Waiting(t.Namers(), &managed.Sleeper{TID: innerTID(t, tid), Word: word, Mem: mem, Live: live})
	}
}

// managedOfCore is that for a core, in which nothing changes.
func managedOfCore(c *core.Core) managedWaits {
	if len(c.Namers()) == 0 {
		return nil
	}
	return func(tid int, word, _ uint64, mem frames.Memory) (w waits.For, ok, later bool) {
		return callstack.Waiting(c.Namers(), &managed.Sleeper{TID: tid, Word: word, Mem: mem, Live: callstack.Still(c.Read)})
	}
}

// asks gives what asks the run-time systems about a sleeper, nil if it sleeps elsewhere than in futex(2). At first it
// must be the sleep of the stack, in which the thread's run count was runs. Later it may be another one: a monitor's
// waiters wake up now and then to look, and sleep on.
func (x *explainer) asks(tid int, sl *waits.Sleeper, runs uint64, mem frames.Memory) func() (waits.For, bool) {
	word, ok := waits.Sleeps(&sl.Args)
	if x.managed == nil || sl.Wait != "futex" || !sl.InCall || !ok {
		return nil
	}
	first := true
	return func() (waits.For, bool) {
		if !first && runs != 0 {
			runs, mem = runsOf(x.pid, tid), nil
		}
		first = false
		w, ok, later := x.managed(tid, word, runs, mem)
		x.later = later
		return w, ok
	}
}

// Sleepers of which more may be told a little later are looked at again, so often in all and after so long: most
// collections of garbage are over by then.
const (
	waitsAgain = 200
	waitsEach  = 8 // of one thread
	waitsWait  = 4 * time.Millisecond
)

// lookAgain looks again at a sleeper of which more may be told, and describes it anew.
func (l *list) lookAgain(t *code.Process, w *walk, x *explainer, th *look.Thread, d Thread, o Options) Thread {
	for n := 0; x.later && n < waitsEach && x.asked < waitsAgain && !o.Atomic && !l.over(); n++ {
		x.asked++
		time.Sleep(waitsWait)
		s, err := again(th, o)
		if s == nil || err != nil {
			break
		}
		d = describe(t, w, th.TID, s)
		x.explain(&d, s)
	}
	return d
}

// runsOf gives a thread's run count as it is now, 0 if that cannot be read.
func runsOf(pid, tid int) uint64 {
	f := procmem.OpenThread(pid, tid, nil)
	defer f.Close()
	now, err := f.SchedStat()
	if err != nil {
		return 0
	}
	return now.Runs
}

// ownManaged gives the innermost managed function that is no library's native one, of a thread that waits for something
// of its run-time system; nil if there is none.
func ownManaged(t *Thread) *Frame {
	if t.WaitsFor == nil || !t.WaitsFor.IsManaged() {
		return nil
	}
	for i := range t.Frames {
		if f := &t.Frames[i]; f.Kind != "" && f.Type != "native" && f.Type != "stub" && f.Function != freed {
			return f
		}
	}
	return nil
}
