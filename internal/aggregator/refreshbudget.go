// SPDX-License-Identifier: Apache-2.0

package aggregator

// An incomplete stack often ends in code newer than the list of mappings, which is then read again: at least
// refreshAfter ns after the last time, and without new code for at most 1/refreshShare of a CPU. It is also read every
// refreshEvery ns, as remapped memory shows in no stack, and every refreshStart ns while a runtime starts.
//
// Readings that find new code do not delay the next: they take up to loadCredit ns of CPU time, and 1/refreshShare of a
// CPU more. Queries have their own share, with a credit of queryCredit ns.
const (
	refreshAfter = 1e6
	refreshShare = 20
	refreshEvery = 2e9
	refreshStart = 5e6
	loadCredit   = 500e6
	queryCredit  = 20e6
)

type refreshBudget struct {
	last      int64 // CLOCK_MONOTONIC ns
	cost      int64 // that delays the next reading, ns
	loadCost  int64 // of readings with new code, less the share since, ns
	queryCost int64 // less the share since, ns
	queriedAt int64 // CLOCK_MONOTONIC ns
}

func (r *refreshBudget) mayRefresh(at int64) bool {
	return at-r.last > max(refreshAfter, refreshShare*r.cost)
}

// due reports a reading due whatever the stacks.
func (r *refreshBudget) due(at int64, starting bool) bool {
	age := at - r.last
	return age > refreshEvery || starting && age > max(refreshStart, refreshShare*r.cost)
}

// noteRefresh notes a reading. loaded: it found new code.
func (r *refreshBudget) noteRefresh(at, cost int64, loaded bool) {
	r.loadCost = max(r.loadCost-(at-r.last)/refreshShare, 0)
	r.last = at
	if loaded && r.loadCost < loadCredit {
		r.loadCost += cost
		return
	}
	r.cost = cost
}

func (r *refreshBudget) mayQuery(at int64) bool {
	if at > r.queriedAt {
		r.queryCost, r.queriedAt = max(r.queryCost-(at-r.queriedAt)/refreshShare, 0), at
	}
	return r.queryCost < queryCredit
}

func (r *refreshBudget) addQueries(cost int64) { r.queryCost += cost }
