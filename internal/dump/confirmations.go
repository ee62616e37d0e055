// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"maps"
	"slices"
	"time"

	"prywalk/internal/dump/locks"
	"prywalk/internal/observe"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
)

// confirmDelay is the time between two readings of run counts.
const confirmDelay = 100 * time.Millisecond

// maxConfirmations bounds the checks of cycles whose members wake and sleep again: in JDK 8 to 23 one waiter of each
// monitor after 1, 8, 64, 512 ms, then every second (runtime/objectMonitor.cpp, EnterI).
const maxConfirmations = 20

// Deadlocks implements [locks.Checker]: it keeps the cycles whose members do not run, and still wait for each other.
func (l *lockExaminer) Deadlocks(cycles [][]int) (proven [][]int) {
	for n := 0; n < maxConfirmations && len(cycles) > 0; n++ {
		began := time.Now()
		var still [][]int
		still, cycles = confirmUnchanged(cycles, l.runCountsInCycle)
		if len(still) > 0 {
			proven = append(proven, still...)
			l.locks.Watched = time.Since(began).Round(time.Millisecond)
		}
		cycles = slices.DeleteFunc(cycles, func(c []int) bool { return !l.mayWake(c) })
	}
	slices.SortFunc(proven, func(a, b []int) int { return a[0] - b[0] })
	return proven
}

// mayWake reports whether a member waits in a run-time system, which may wake it now and then.
func (l *lockExaminer) mayWake(cycle []int) bool {
	return slices.ContainsFunc(cycle, func(tid int) bool {
		t, _ := l.locks.Thread(tid)
		return t != nil && t.WaitsFor != nil && t.WaitsFor.IsManaged()
	})
}

// Possible implements [locks.Checker].
func (l *lockExaminer) Possible(cycles [][]int) [][]int {
	still, _ := confirmUnchanged(cycles, l.runCountsAsleep)
	return still
}

// Starved implements [locks.Checker]: threads were sampled one after the other.
func (l *lockExaminer) Starved(pools []locks.Starved) []locks.Starved {
	var threads [][]int
	for i := range pools {
		threads = append(threads, pools[i].Threads)
	}
	still, _ := confirmUnchanged(threads, l.runCountsAsleep)
	return slices.DeleteFunc(pools, func(s locks.Starved) bool {
		return !slices.ContainsFunc(still, func(tids []int) bool { return tids[0] == s.Threads[0] })
	})
}

// confirmUnchanged separates cycles whose members did not run. read gives run counts of those that wait as before.
func confirmUnchanged(cycles [][]int, read func(cycle []int) map[int]uint64) (still, moved [][]int) {
	if len(cycles) == 0 {
		return nil, nil
	}
	first := make([]map[int]uint64, len(cycles))
	for i, c := range cycles {
		first[i] = read(c)
	}
	time.Sleep(confirmDelay)
	for i, c := range cycles {
		if second := read(c); len(second) == len(c) && maps.Equal(first[i], second) {
			still = append(still, c)
		} else {
			moved = append(moved, c)
		}
	}
	return still, moved
}

// runCountsInCycle returns the run counts of members that still wait for the next one's lock.
func (l *lockExaminer) runCountsInCycle(cycle []int) map[int]uint64 {
	runs := map[int]uint64{}
	for i, tid := range cycle {
		s, sl := l.sampleAsleep(tid)
		if s == nil || s.Call.Args != sl.Args && sl.Managed == nil { // a wake-up changes the word of a managed wait
			continue
		}
		if l.byThread[tid].explainer.WaitWith(sl, s.FutexWord()).Owner == cycle[(i+1)%len(cycle)] {
			runs[tid] = s.Sched.Runs
		}
	}
	return runs
}

// runCountsAsleep returns the run counts of threads still in the same call.
func (l *lockExaminer) runCountsAsleep(tids []int) map[int]uint64 {
	runs := map[int]uint64{}
	for _, tid := range tids {
		if s, sl := l.sampleAsleep(tid); s != nil && s.Call.Args == sl.Args {
			runs[tid] = s.Sched.Runs
		}
	}
	return runs
}

// sampleAsleep samples without a stop; nil if the wait is not that of the first sample, sl.
func (l *lockExaminer) sampleAsleep(tid int) (s *observe.RawSample, sl *waits.Sleeper) {
	of := l.byThread[tid]
	if of == nil || of.process.Sleepers[tid] == nil {
		return nil, nil
	}
	th := l.newThread(of, tid, nil)
	defer th.Close()
	s, _ = sampleThread(th, l.options, observe.ModePassiveOnly)
	sl = of.process.Sleepers[tid]
	if s == nil || s.State == sample.Running || s.WaitReason() != sl.Wait {
		return nil, nil
	}
	return s, sl
}

// Goroutines implements [locks.Checker]: it keeps the cycles whose goroutines did not run.
func (l *lockExaminer) Goroutines(cycles []locks.GoroutineCycle) []locks.GoroutineCycle {
	if len(cycles) == 0 {
		return nil
	}
	time.Sleep(confirmDelay)
	return slices.DeleteFunc(cycles, func(c locks.GoroutineCycle) bool {
		return slices.ContainsFunc(c.Goroutines, func(id uint64) bool {
			of := l.byPID[c.PID]
			if of == nil {
				return true
			}
			g := of.process.Goroutine(c.Runtime, id)
			return g == nil || g.Unchanged == nil || !g.Unchanged()
		})
	})
}
