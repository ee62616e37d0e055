// SPDX-License-Identifier: Apache-2.0

package heuristics

// enoughVotes strong votes end the search.
const (
	maxVotes    = 6
	enoughVotes = 3
)

// outcome is a finding with its votes. A vote is weak if the path may have run past a call that does not return, or
// ends in a jump to a function's start.
type outcome struct {
	finding      finding
	strong, weak int
}

type votes struct {
	outcomes [maxVotes]outcome
	n        int
	strong   int // of all outcomes
	// misaligned is the last outcome of paths whose calls are not aligned as the ABI demands. Compilers need not align
	// within a unit, so it can confirm the prologue, but has no vote.
	misaligned    finding
	hasMisaligned bool
}

func (v *votes) add(f *finding, weak bool) {
	i := 0
	for i < v.n && v.outcomes[i].finding != *f {
		i++
	}
	if i == maxVotes {
		return
	}
	o := &v.outcomes[i]
	if i == v.n {
		o.finding = *f
		v.n++
	}
	if weak {
		o.weak++
		return
	}
	o.strong++
	v.strong++
}

// best is the outcome with most strong votes, then most weak ones, or nil. sure means that it has all strong votes.
func (v *votes) best() (f *finding, sure bool) {
	if v.n == 0 {
		return nil, false
	}
	best := &v.outcomes[0]
	for i := range v.n {
		if o := &v.outcomes[i]; o.strong > best.strong || o.strong == best.strong && o.weak > best.weak {
			best = o
		}
	}
	return &best.finding, best.strong == v.strong && v.strong > 0
}

// showsWholeFrame reports whether the first outcome has the frame pointer at the caller's, below the return address.
func (v *votes) showsWholeFrame(abi *abi) bool {
	first := &v.outcomes[0]
	return v.strong > 0 && first.finding.cfa == startValue(abi.fp).plus(16) &&
		first.finding.calleeSaved[0] == inMemory(abi.fp, 0)
}
