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

// watchFor is the time between two readings of run counts.
const watchFor = 100 * time.Millisecond

// maxWatches bounds the checks of cycles whose members wake and sleep again: in JDK 8 to 23 one waiter of each monitor
// after 1, 8, 64, 512 ms, then every second (runtime/objectMonitor.cpp, EnterI).
const maxWatches = 20

// proveDeadlocks keeps the cycles whose members do not run, and still wait for each other.
func (l *lockExam) proveDeadlocks() {
	cycles := waits.Cycles(l.out.graph())
	for n := 0; n < maxWatches && len(cycles) > 0; n++ {
		began := time.Now()
		var still [][]int
		still, cycles = watch(cycles, l.runCountsInCycle)
		if len(still) > 0 {
			l.out.Deadlocks = append(l.out.Deadlocks, still...)
			l.out.Watched = time.Since(began).Round(time.Millisecond)
		}
		cycles = slices.DeleteFunc(cycles, func(c []int) bool { return !l.mayWake(c) })
	}
	slices.SortFunc(l.out.Deadlocks, func(a, b []int) int { return a[0] - b[0] })
}

// mayWake reports whether a member waits in a run-time system, which may wake it now and then.
func (l *lockExam) mayWake(cycle []int) bool {
	return slices.ContainsFunc(cycle, func(tid int) bool {
		t, _ := l.out.thread(tid)
		return t != nil && t.WaitsFor != nil && t.WaitsFor.IsManaged()
	})
}

func (l *lockExam) keepPossible() {
	if cycles := l.out.possibleCycles(); len(cycles) > 0 {
		still, _ := watch(cycles, l.runCountsAsleep)
		l.out.Possible = append(l.out.Possible, still...)
	}
}

// keepStarved keeps the pools of which all threads wait at one moment: they were sampled one after the other.
func (l *lockExam) keepStarved() {
	if len(l.out.Starved) == 0 {
		return
	}
	var pools [][]int
	for i := range l.out.Starved {
		pools = append(pools, l.out.Starved[i].Threads)
	}
	still, _ := watch(pools, l.runCountsAsleep)
	l.out.Starved = slices.DeleteFunc(l.out.Starved, func(s Starved) bool {
		return !slices.ContainsFunc(still, func(tids []int) bool { return tids[0] == s.Threads[0] })
	})
}

// watch separates cycles whose members did not run. read gives run counts of those that wait as before.
func watch(cycles [][]int, read func(cycle []int) map[int]uint64) (still, moved [][]int) {
	first := make([]map[int]uint64, len(cycles))
	for i, c := range cycles {
		first[i] = read(c)
	}
	time.Sleep(watchFor)
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
func (l *lockExam) runCountsInCycle(cycle []int) map[int]uint64 {
	runs := map[int]uint64{}
	for i, tid := range cycle {
		s, sl := l.sampleAsleep(tid)
		if s == nil || s.Call.Args != sl.Args && sl.Managed == nil { // a wake-up changes the word of a managed wait
			continue
		}
		if l.lockIn(sl, l.byThread[tid], copyOf(s.FutexWord())).Owner == cycle[(i+1)%len(cycle)] {
			runs[tid] = s.Sched.Runs
		}
	}
	return runs
}

// runCountsAsleep returns the run counts of threads still in the same call.
func (l *lockExam) runCountsAsleep(tids []int) map[int]uint64 {
	runs := map[int]uint64{}
	for _, tid := range tids {
		if s, sl := l.sampleAsleep(tid); s != nil && s.Call.Args == sl.Args {
			runs[tid] = s.Sched.Runs
		}
	}
	return runs
}

// sampleAsleep samples without a stop; nil if the wait is not that of the first sample, sl.
func (l *lockExam) sampleAsleep(tid int) (s *observe.RawSample, sl *waits.Sleeper) {
	of := l.byThread[tid]
	if of == nil || of.process.slept[tid] == nil {
		return nil, nil
	}
	s, sl = l.sample(of, tid, nil, observe.ModePassiveOnly), of.process.slept[tid]
	if s == nil || s.State == sample.Running || s.WaitReason() != sl.Wait {
		return nil, nil
	}
	return s, sl
}

func (l *lockExam) keepPossibleGoroutines() {
	cycles := l.out.goroutineCycles()
	if len(cycles) == 0 {
		return
	}
	time.Sleep(watchFor)
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
			l.out.PossibleGoroutines = append(l.out.PossibleGoroutines, c)
		}
	}
}
