// SPDX-License-Identifier: Apache-2.0

package locks

// New gives locks without processes, of which nothing is known.
func New() *Locks {
	return &Locks{
		Verdict: VerdictUnknown, Locks: []Lock{}, Deadlocks: [][]int{}, Possible: [][]int{}, Starved: []Starved{},
		OwnerUnknown: []int{},
	}
}

// WhyChangedEachSample is why no owner is named of a lock that another thread owned at each sample.
const WhyChangedEachSample = "owner changed at each sample"

// Checker decides about what one reading of processes suggests. Threads that run are read one after the other, so each
// answer needs further samples.
type Checker interface {
	// Owners sets [Lock.OwnerThread], and again the owners that have changed since.
	Owners(l *Locks)
	// Deadlocks and Possible give the cycles of threads that stand, Goroutines those of goroutines.
	Deadlocks(cycles [][]int) [][]int
	Possible(cycles [][]int) [][]int
	Goroutines(cycles []GoroutineCycle) []GoroutineCycle
	// Starved gives the pools whose threads all wait at one moment.
	Starved(pools []Starved) []Starved
}

// Examine finds the locks of l.Processes, their owners, cycles and starved pools, and the verdict.
func (l *Locks) Examine(c Checker) {
	l.Collect()
	c.Owners(l)
	l.Deadlocks = append(l.Deadlocks, c.Deadlocks(l.Cycles())...)
	l.addLikelyOwners()
	l.Possible = append(l.Possible, c.Possible(l.possibleCycles())...)
	l.collectGoroutineLocks()
	l.PossibleGoroutines = c.Goroutines(l.goroutineCycles())
	l.Starved = append(l.Starved, c.Starved(l.starvedPools())...)
	l.conclude()
}

// AsRead is the [Checker] of a core, whose threads stand still: all is as it was read.
type AsRead struct{}

// Owners implements [Checker].
func (AsRead) Owners(l *Locks) {
	for i := range l.Locks {
		l.Locks[i].OwnerThread, _ = l.Thread(l.Locks[i].Owner)
	}
}

// Deadlocks implements [Checker].
func (AsRead) Deadlocks(cycles [][]int) [][]int { return cycles }

// Possible implements [Checker].
func (AsRead) Possible(cycles [][]int) [][]int { return cycles }

// Goroutines implements [Checker].
func (AsRead) Goroutines(cycles []GoroutineCycle) []GoroutineCycle { return cycles }

// Starved implements [Checker].
func (AsRead) Starved(pools []Starved) []Starved { return pools }
