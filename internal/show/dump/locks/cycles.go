// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"maps"
	"slices"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// graph maps threads to owners of what they wait for without a timeout.
func (l *Locks) graph() map[int]int {
	g := map[int]int{}
	for _, t := range stacks.ThreadsOf(l.Processes) {
		if w := t.WaitsFor; w != nil && w.Owner != 0 && !w.Timed {
			g[t.TID] = w.Owner
		}
	}
	return g
}

// Cycles returns the cycles of threads that wait, without a timeout, for the next one.
func (l *Locks) Cycles() [][]int { return waits.Cycles(l.graph()) }

func (l *Locks) possibleCycles() [][]int {
	likely := map[int]int{}
	for i := range l.Locks {
		lock := &l.Locks[i]
		if len(lock.Likely) != 1 {
			continue
		}
		for _, tid := range lock.Waiters {
			if t, _ := l.Thread(tid); t != nil && !t.WaitsFor.Timed {
				likely[tid] = lock.Likely[0].TID
			}
		}
	}
	return l.cyclesThrough(likely)
}

// gilCycles returns the cycles through an interpreter's lock. Run counts prove none: its waiters wake every few
// milliseconds.
func (l *Locks) gilCycles() [][]int {
	owners := map[int]int{}
	for _, t := range stacks.ThreadsOf(l.Processes) {
		if w := t.WaitsFor; w != nil && w.Kind == waits.GIL && w.Owner != 0 {
			owners[t.TID] = w.Owner
		}
	}
	return l.cyclesThrough(owners)
}

// cyclesThrough returns the cycles with at least one key of owners, which maps threads to owners.
func (l *Locks) cyclesThrough(owners map[int]int) [][]int {
	g := l.graph()
	maps.Copy(g, owners)
	return slices.DeleteFunc(waits.Cycles(g), func(c []int) bool {
		return !slices.ContainsFunc(c, func(tid int) bool { return owners[tid] != 0 })
	})
}

func (l *Locks) goroutineCycles() (out []GoroutineCycle) {
	type scheduler struct {
		pid  int
		file string
	}
	graphs := map[scheduler]map[int]int{}
	var order []scheduler
	for i := range l.GoroutineLocks {
		lock := &l.GoroutineLocks[i]
		if len(lock.Likely) != 1 {
			continue
		}
		key := scheduler{lock.PID, lock.Runtime}
		if graphs[key] == nil {
			graphs[key], order = map[int]int{}, append(order, key)
		}
		// sync/rwmutex.go: RLock waits only if readerCount is negative, by a writer in Lock or after it, until that
		// writer's Unlock. While another goroutine reads, the writer is in Lock, and waits for it.
		writerWaits := slices.ContainsFunc(lock.Waiters, func(w GoroutineWaiter) bool { return !w.Reads })
		for _, w := range lock.Waiters {
			if writerWaits || !(w.Reads && lock.Likely[0].Reads) {
				graphs[key][int(w.Goroutine)] = int(lock.Likely[0].Goroutine)
			}
		}
	}
	for _, key := range order {
		for _, c := range waits.Cycles(graphs[key]) {
			cycle := GoroutineCycle{PID: key.pid, Runtime: key.file}
			for _, id := range c {
				cycle.Goroutines = append(cycle.Goroutines, uint64(id))
			}
			out = append(out, cycle)
		}
	}
	return out
}
