// SPDX-License-Identifier: Apache-2.0

package locks

// New returns locks without processes, of which nothing is known.
func New() *Locks {
	return &Locks{
		Verdict: VerdictUnknown, Locks: []Lock{}, Deadlocks: [][]int{}, PossibleDeadlocks: [][]int{},
		StarvedPools:        []StarvedPool{},
		WaitersWithoutOwner: []int{},
	}
}

// WhyChangedEachSample is why no owner is named of a lock that another thread owned at each sample.
const WhyChangedEachSample = "owner changed at each sample"

// Checker decides about what one reading of processes suggests. Threads that run are read one after the other, so each
// answer needs further samples.
type Checker interface {
	// SampleOwners sets [Lock.OwnerThread], and again the owners that have changed since.
	SampleOwners(l *Locks)
	// ConfirmDeadlocks and ConfirmPossibleDeadlocks give the cycles of threads that stand, ConfirmGoroutineCycles those
	// of goroutines.
	ConfirmDeadlocks(cycles [][]int) [][]int
	ConfirmPossibleDeadlocks(cycles [][]int) [][]int
	ConfirmGoroutineCycles(cycles []GoroutineCycle) []GoroutineCycle
	// ConfirmStarvedPools gives the pools whose threads all wait at one moment.
	ConfirmStarvedPools(pools []StarvedPool) []StarvedPool
}

// Examine finds the locks of l.Processes, their owners, cycles and starved pools, and the verdict.
func (l *Locks) Examine(c Checker) {
	l.Collect()
	c.SampleOwners(l)
	l.Deadlocks = append(l.Deadlocks, c.ConfirmDeadlocks(l.Cycles())...)
	l.addLikelyOwners()
	l.PossibleDeadlocks = append(l.PossibleDeadlocks, c.ConfirmPossibleDeadlocks(l.possibleCycles())...)
	l.collectGoroutineLocks()
	l.PossibleGoroutineDeadlocks = c.ConfirmGoroutineCycles(l.goroutineCycles())
	l.StarvedPools = append(l.StarvedPools, c.ConfirmStarvedPools(l.starvedPools())...)
	l.conclude()
}

// AsRead is the [Checker] of a core, whose threads stand still: all is as it was read.
type AsRead struct{}

// SampleOwners implements [Checker].
func (AsRead) SampleOwners(l *Locks) {
	for i := range l.Locks {
		l.Locks[i].OwnerThread, _ = l.Thread(l.Locks[i].Owner)
	}
}

// ConfirmDeadlocks implements [Checker].
func (AsRead) ConfirmDeadlocks(cycles [][]int) [][]int { return cycles }

// ConfirmPossibleDeadlocks implements [Checker].
func (AsRead) ConfirmPossibleDeadlocks(cycles [][]int) [][]int { return cycles }

// ConfirmGoroutineCycles implements [Checker].
func (AsRead) ConfirmGoroutineCycles(cycles []GoroutineCycle) []GoroutineCycle { return cycles }

// ConfirmStarvedPools implements [Checker].
func (AsRead) ConfirmStarvedPools(pools []StarvedPool) []StarvedPool { return pools }
