// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"maps"
	"slices"
	"time"

	"prywalk/internal/observe"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
)

// confirmDelay is the time between two readings of run counts.
const confirmDelay = 100 * time.Millisecond

// maxConfirmations bounds the checks of cycles whose members wake and sleep again: in JDK 8 to 23 one waiter of each
// monitor after 1, 8, 64, 512 ms, then every second (runtime/objectMonitor.cpp, EnterI).
const maxConfirmations = 20

// proveDeadlocks keeps the cycles whose members do not run, and still wait for each other.
func (l *lockExaminer) proveDeadlocks() {
	cycles := waits.Cycles(l.locks.graph())
	for n := 0; n < maxConfirmations && len(cycles) > 0; n++ {
		began := time.Now()
		var still [][]int
		still, cycles = confirmUnchanged(cycles, l.runCountsInCycle)
		if len(still) > 0 {
			l.locks.Deadlocks = append(l.locks.Deadlocks, still...)
			l.locks.Watched = time.Since(began).Round(time.Millisecond)
		}
		cycles = slices.DeleteFunc(cycles, func(c []int) bool { return !l.mayWake(c) })
	}
	slices.SortFunc(l.locks.Deadlocks, func(a, b []int) int { return a[0] - b[0] })
}

// mayWake reports whether a member waits in a run-time system, which may wake it now and then.
func (l *lockExaminer) mayWake(cycle []int) bool {
	return slices.ContainsFunc(cycle, func(tid int) bool {
		t, _ := l.locks.thread(tid)
		return t != nil && t.WaitsFor != nil && t.WaitsFor.IsManaged()
	})
}

func (l *lockExaminer) confirmPossible() {
	if cycles := l.locks.possibleCycles(); len(cycles) > 0 {
		still, _ := confirmUnchanged(cycles, l.runCountsAsleep)
		l.locks.Possible = append(l.locks.Possible, still...)
	}
}

// confirmStarved keeps the pools of which all threads wait at one moment: they were sampled one after the other.
func (l *lockExaminer) confirmStarved() {
	if len(l.locks.Starved) == 0 {
		return
	}
	var pools [][]int
	for i := range l.locks.Starved {
		pools = append(pools, l.locks.Starved[i].Threads)
	}
	still, _ := confirmUnchanged(pools, l.runCountsAsleep)
	l.locks.Starved = slices.DeleteFunc(l.locks.Starved, func(s Starved) bool {
		return !slices.ContainsFunc(still, func(tids []int) bool { return tids[0] == s.Threads[0] })
	})
}

// confirmUnchanged separates cycles whose members did not run. read gives run counts of those that wait as before.
func confirmUnchanged(cycles [][]int, read func(cycle []int) map[int]uint64) (still, moved [][]int) {
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
		if l.lockIn(sl, l.byThread[tid], cloneWordCopy(s.FutexWord())).Owner == cycle[(i+1)%len(cycle)] {
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
	if of == nil || of.process.sleepers[tid] == nil {
		return nil, nil
	}
	th := l.newThread(of, tid, nil)
	defer th.Close()
	s, _ = sampleThread(th, l.options, observe.ModePassiveOnly)
	sl = of.process.sleepers[tid]
	if s == nil || s.State == sample.Running || s.WaitReason() != sl.Wait {
		return nil, nil
	}
	return s, sl
}

func (l *lockExaminer) confirmGoroutines() {
	cycles := l.locks.goroutineCycles()
	if len(cycles) == 0 {
		return
	}
	time.Sleep(confirmDelay)
	for _, c := range cycles {
		k := l.byPID[c.PID]
		if k == nil {
			continue
		}
		ran := func(id uint64) bool {
			g := k.process.goroutine(c.Runtime, id)
			return g == nil || g.task == nil || !g.of.Again(g.task)
		}
		if !slices.ContainsFunc(c.Goroutines, ran) {
			l.locks.PossibleGoroutines = append(l.locks.PossibleGoroutines, c)
		}
	}
}
