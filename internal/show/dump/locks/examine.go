// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"maps"
	"slices"
	"strings"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// New returns locks without processes.
func New() *Locks {
	return &Locks{
		Verdict: VerdictUnknown, Locks: []Lock{}, Deadlocks: [][]int{}, PossibleDeadlocks: [][]int{},
		StarvedPools:        []StarvedPool{},
		WaitersWithoutOwner: []int{},
	}
}

// WhyChangedEachSample is the reason of a lock that another thread owned at each sample.
const WhyChangedEachSample = "owner changed at each sample"

// Checker confirms by further samples what one reading suggests: running threads are read one after the other.
type Checker interface {
	// SampleOwners sets [Lock.OwnerThread] and changed owners.
	SampleOwners(l *Locks)
	// ConfirmDeadlocks and ConfirmGoroutineCycles return the cycles that stand.
	ConfirmDeadlocks(cycles [][]int) [][]int
	ConfirmTaskDeadlocks(cycles [][]Waiter) [][]Waiter
	ConfirmGoroutineCycles(cycles []GoroutineCycle) []GoroutineCycle
	// ConfirmAsleep returns the groups whose threads all wait at one moment.
	ConfirmAsleep(groups [][]int) [][]int
	// HasRun reports whether a sleeping thread has run since its sample.
	HasRun(t *stacks.Thread) bool
}

// Examine lists the locks of l.Processes, and finds their owners, cycles, starved pools, and the verdict.
func (l *Locks) Examine(c Checker) {
	stacks.ClearAwaitedIdleness(l.Processes...)
	l.Collect()
	c.SampleOwners(l)
	l.clearOwnersIdleness()
	l.Deadlocks = append(l.Deadlocks, c.ConfirmDeadlocks(l.Cycles())...)
	l.addLikelyOwners()
	l.PossibleDeadlocks = append(l.PossibleDeadlocks, c.ConfirmAsleep(l.possibleCycles())...)
	l.OnlyThreads = c.ConfirmAsleep(l.onlyThreads())
	l.PossibleDeadlocks = append(l.PossibleDeadlocks, l.OnlyThreads...)
	l.collectTaskLocks()
	l.TaskDeadlocks = l.taskCycles(c)
	l.collectGoroutineLocks()
	l.GoroutineDeadlocks = l.goroutineDeadlocks()
	l.PossibleGoroutineDeadlocks = c.ConfirmGoroutineCycles(l.goroutineCycles())
	l.StarvedPools = append(l.StarvedPools, l.starvedPools(c)...)
	l.conclude()
}

// clearOwnersIdleness is [stacks.ClearAwaitedIdleness] for the owners' samples.
func (l *Locks) clearOwnersIdleness() {
	for lock := range stacks.Each(l.Locks) {
		if t := lock.OwnerThread; len(lock.Blocked()) > 0 && t != nil && t.WaitsFor != nil &&
			t.WaitsFor.Kind.IsSynchronization() {
			t.WaitsFor.Idleness = waits.Idleness{}
		}
	}
}

// AsRead is the [Checker] of a core, whose threads stand still.
type AsRead struct{}

// SampleOwners implements [Checker].
func (AsRead) SampleOwners(l *Locks) {
	for i := range l.Locks {
		l.Locks[i].OwnerThread, _ = l.Thread(l.Locks[i].Owner)
	}
}

// ConfirmDeadlocks implements [Checker].
func (AsRead) ConfirmDeadlocks(cycles [][]int) [][]int { return cycles }

// ConfirmTaskDeadlocks implements [Checker].
func (AsRead) ConfirmTaskDeadlocks(cycles [][]Waiter) [][]Waiter { return cycles }

// ConfirmGoroutineCycles implements [Checker].
func (AsRead) ConfirmGoroutineCycles(cycles []GoroutineCycle) []GoroutineCycle { return cycles }

// ConfirmAsleep implements [Checker].
func (AsRead) ConfirmAsleep(groups [][]int) [][]int { return groups }

// HasRun implements [Checker].
func (AsRead) HasRun(*stacks.Thread) bool { return false }

// LikelyOwner is a thread that likely holds a lock without a stored owner.
type LikelyOwner struct {
	TID      int    `json:"tid"`
	Evidence string `json:"evidence"`
}

func (l *Locks) addLikelyOwners() {
	for lock := range stacks.Each(l.Locks) {
		if lock.Owner != 0 || lock.Free {
			continue
		}
		p := l.Process(lock.OwnerProcess)
		if lock.OwnerProcess != 0 && p != nil && len(p.Threads) == 1 && p.CountFailed() == 0 {
			lock.Likely = []LikelyOwner{{p.Threads[0].TID, "the only thread of the process that took it"}}
			continue
		}
		if lock.Symbol == waits.ClassInitialization {
			lock.Likely = initializers(l.Process(lock.PID), lock)
			continue
		}
		likely, class := insideBlock(l.Process(lock.PID), uint64(lock.Address))
		lock.Likely = append(lock.Likely, likely...)
		if lock.Kind == waits.Semaphore && class != "" { // unknown of an interpreter without symbols
			lock.Type = class
		}
	}
}

// initializers are the threads that may initialize the class for which a lock's waiters wait: those in a static
// initializer that do not wait for it themselves.
func initializers(p *stacks.Process, lock *Lock) (out []LikelyOwner) {
	for t := range stacks.Each(p.Threads) {
		at := slices.IndexFunc(t.Frames, func(f stacks.Frame) bool { return strings.HasSuffix(f.Function, ".<clinit>") })
		if at >= 0 && !slices.Contains(lock.Waiters, t.TID) {
			out = append(out, LikelyOwner{t.TID, "it initializes a class, in " + t.Frames[at].Location()})
		}
	}
	return out
}

func insideBlock(p *stacks.Process, word uint64) (out []LikelyOwner, class string) {
	for t := range stacks.Each(p.Threads) {
		for _, h := range t.Holds {
			if h.Word == word && word != 0 {
				class = h.Class
				place := stacks.Place{Function: h.Function, File: h.File, Line: h.Line}
				out = append(out, LikelyOwner{t.TID, "inside of \"with\" of this " + h.Class + ", in " + place.Location()})
				break
			}
		}
	}
	return out, class
}

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
	for lock := range stacks.Each(l.Locks) {
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

// onlyThreads returns the processes' only threads that wait for a lock of their own memory, which no other thread can
// release, without a timeout: they took it themselves, or another thread of the parent did before the fork.
func (l *Locks) onlyThreads() (out [][]int) {
	for _, p := range l.Processes {
		if len(p.Threads) != 1 || p.CountFailed() > 0 {
			continue
		}
		t := &p.Threads[0]
		known := slices.ContainsFunc(slices.Concat(l.Deadlocks, l.PossibleDeadlocks), func(c []int) bool {
			return slices.Contains(c, t.TID)
		})
		if w := t.WaitsFor; w != nil && w.IsPrivateLock() && !w.Timed && !known {
			out = append(out, []int{t.TID})
		}
	}
	return out
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
	for lock := range stacks.Each(l.GoroutineLocks) {
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
