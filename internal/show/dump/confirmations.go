// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"maps"
	"slices"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/sleepers"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

// confirmDelay is the least time between two readings.
const confirmDelay = 100 * time.Millisecond

// maxConfirmations is for cycles whose members wake and sleep again: in JDK 8 to 23 one waiter of each monitor after 1,
// 8, 64, 512 ms, then every second (runtime/objectMonitor.cpp, EnterI).
const maxConfirmations = 20

// ConfirmDeadlocks implements [locks.Checker]: members do not run and still wait for each other.
func (e *lockExaminer) ConfirmDeadlocks(cycles [][]int) (proven [][]int) {
	for n := 0; n < maxConfirmations && len(cycles) > 0; n++ {
		var still [][]int
		still, cycles = e.confirmUnchanged(cycles, e.waitsForNext)
		if len(still) > 0 {
			proven = append(proven, still...)
			e.locks.UnchangedFor = confirmDelay
		}
		cycles = slices.DeleteFunc(cycles, func(c []int) bool { return !e.mayWake(c) })
	}
	slices.SortFunc(proven, func(a, b []int) int { return a[0] - b[0] })
	return proven
}

// mayWake reports whether a member waits in a runtime, which may wake it now and then.
func (e *lockExaminer) mayWake(cycle []int) bool {
	return slices.ContainsFunc(cycle, func(tid int) bool {
		t, _ := e.locks.Thread(tid)
		return t != nil && t.WaitsFor != nil && t.WaitsFor.IsManaged()
	})
}

// ConfirmAsleep implements [locks.Checker].
func (e *lockExaminer) ConfirmAsleep(groups [][]int) [][]int {
	still, _ := e.confirmUnchanged(groups, func(_ []int, _ int, s *observe.RawSample, sl *waits.Sleeper) bool {
		return s.Call.Args == sl.Args
	})
	return still
}

// confirmUnchanged separates groups of threads in which none ran, and each still waits as before.
func (e *lockExaminer) confirmUnchanged(groups [][]int,
	waitsStill func(group []int, member int, s *observe.RawSample, sl *waits.Sleeper) bool) (still, moved [][]int) {
	if len(groups) == 0 {
		return nil, nil
	}
	read := func(group []int) map[int]uint64 { // run counts
		runs := map[int]uint64{}
		for i, tid := range group {
			if s, sl := e.sampleAsleep(tid); s != nil && waitsStill(group, i, s, sl) {
				runs[tid] = s.Sched.Runs
			}
		}
		return runs
	}
	first := make([]map[int]uint64, len(groups))
	for i, group := range groups {
		first[i] = read(group)
	}
	time.Sleep(confirmDelay)
	for i, group := range groups {
		if second := read(group); len(second) == len(group) && maps.Equal(first[i], second) {
			still = append(still, group)
		} else {
			moved = append(moved, group)
		}
	}
	return still, moved
}

func (e *lockExaminer) waitsForNext(cycle []int, i int, s *observe.RawSample, sl *waits.Sleeper) bool {
	return (s.Call.Args == sl.Args || sl.Managed != nil) && // a wake-up changes a managed wait's word
		e.byThread[cycle[i]].explainer.WaitWith(sl, s.FutexCopy()).Owner == cycle[(i+1)%len(cycle)]
}

// sampleAsleep samples without a stop. It returns nil if the wait is not that of sl.
func (e *lockExaminer) sampleAsleep(tid int) (s *observe.RawSample, sl *waits.Sleeper) {
	sl, proc := e.waiter(tid)
	if sl == nil {
		return nil, nil
	}
	th := e.options.newThread(proc.target, tid)
	defer th.Close()
	s, _ = sampleThread(th, e.options, observe.ModePassiveOnly)
	if s == nil || s.State == sample.Running || s.WaitReason() != sl.Reason {
		return nil, nil
	}
	return s, sl
}

// ConfirmTaskDeadlocks implements [locks.Checker]: each member still waits for the next.
func (e *lockExaminer) ConfirmTaskDeadlocks(cycles [][]locks.Waiter) [][]locks.Waiter {
	time.Sleep(confirmDelay)
	proven := slices.DeleteFunc(cycles, func(c []locks.Waiter) bool {
		return slices.ContainsFunc(c, func(w locks.Waiter) bool { return !e.stillWaits(&w) })
	})
	if len(proven) > 0 {
		e.locks.UnchangedFor = confirmDelay
	}
	return proven
}

func (e *lockExaminer) stillWaits(w *locks.Waiter) bool {
	proc := e.byPID[w.PID]
	if w.TID != 0 {
		s, sl := e.sampleAsleep(w.TID)
		if s == nil {
			return false
		}
		now := proc.explainer.WaitWith(sl, s.FutexCopy())
		return now.Owner == w.Wait.Owner && now.OwnerTask == w.Wait.OwnerTask
	}
	now := callstack.TaskWait(proc.target.Runtimes().FrameSources(), w.Task)
	if now == nil {
		return false
	}
	wait := callstack.WaitFrom(now)
	wait.ResolveOwner(proc.explainer.Owners)
	return wait.Owner == w.Wait.Owner && wait.OwnerTask == w.Wait.OwnerTask && wait.Symbol == w.Wait.Symbol
}

// ConfirmGoroutineCycles implements [locks.Checker]: it keeps cycles whose goroutines did not run.
func (e *lockExaminer) ConfirmGoroutineCycles(cycles []locks.GoroutineCycle) []locks.GoroutineCycle {
	if len(cycles) == 0 {
		return nil
	}
	time.Sleep(confirmDelay)
	return slices.DeleteFunc(cycles, func(c locks.GoroutineCycle) bool {
		return slices.ContainsFunc(c.Goroutines, func(id uint64) bool {
			proc := e.byPID[c.PID]
			if proc == nil {
				return true
			}
			g := proc.process.Goroutine(c.Runtime, id)
			return g == nil || g.Unchanged == nil || !g.Unchanged()
		})
	})
}

// HasRun implements [locks.Checker]. A sample by a stop makes the thread run: it may only be in another call since.
func (e *lockExaminer) HasRun(t *stacks.Thread) bool {
	if t.How == observe.ByStop.String() {
		s, sl := e.sampleAsleep(t.TID)
		return s == nil || s.Call.Args != sl.Args
	}
	return sleepers.RunsOf(e.byThread[t.TID].target.PID, t.TID) != t.RunCount
}
