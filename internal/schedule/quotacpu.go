// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// # The CPU under a quota
//
// The kernel gives CPUs the quota in slices. If prywalk is alone in a group of at most one CPU, all of its threads use
// one, and move to the next after periodsOnCPU periods.

const (
	periodsOnCPU = 4
	maxCPUs      = 1024
)

func (q *Quota) pinToCurrentCPU() bool {
	var st procmem.Stat
	return procmem.ReadStat(unix.Gettid(), &st) == nil && st.Processor >= 0 && q.pinTo(st.Processor)
}

func (q *Quota) pinTo(cpu int) bool {
	var one unix.CPUSet
	one.Set(cpu)
	if !setAffinityOfAllThreads(&one) {
		return false
	}
	q.onlyCPU = cpu
	q.movedIn = q.last.Periods
	return true
}

// MoveIfDue moves all threads to the next CPU if due and no stops are pending.
func (q *Quota) MoveIfDue(waiting int) bool {
	if q == nil || q.onlyCPU < 0 || waiting > 0 || q.last.Periods-q.movedIn < periodsOnCPU || q.allCPUs.Count() < 2 {
		return false
	}
	next := q.onlyCPU + 1
	for ; !q.allCPUs.IsSet(next % maxCPUs); next++ {
	}
	return q.pinTo(next % maxCPUs)
}

// setAffinityOfAllThreads reports whether it has set that of a thread at least. It lists them twice: one may have begun
// meanwhile, with the former CPUs.
func setAffinityOfAllThreads(set *unix.CPUSet) (done bool) {
	for range 2 {
		list, err := os.ReadDir("/proc/self/task")
		for _, e := range list {
			tid, notNumber := strconv.Atoi(e.Name())
			if notNumber == nil && unix.SchedSetaffinity(tid, set) == nil {
				done = err == nil
			}
		}
	}
	return done
}
