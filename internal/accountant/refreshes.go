// SPDX-License-Identifier: Apache-2.0

package accountant

// # When a process's mappings are read anew
//
// A stack that does not reach its end is often in code that has come since the list of mappings was read: the list is
// read again. It is not read within refreshAfter ns, nor so often that it takes more than one part in refreshShare of a
// processor. It is read every refreshEvery ns in any case: memory that was unmapped and mapped anew does not show in
// any stack. While a run-time system is known to be starting, it is read every refreshStart ns: what it runs has no
// names before.
//
// A program that starts loads one library after the other, and each reading meets some. What it takes to read them must
// be spent in any case, once for each, so it does not put off the next reading. Only a program that loads code without
// end is held to the share: what it may spend beyond that is loadCredit ns, at first and after a while without loading.
//
// Questions about single mappings, and about what a run-time system has described anew, take some ten microseconds.
// They have a share of their own, of which askCredit ns may be spent at once.
const (
	refreshAfter = 1e6
	refreshShare = 20
	refreshEvery = 2e9
	refreshStart = 5e6
	loadCredit   = 500e6
	askCredit    = 20e6
)

// refreshes is what is known of the readings of one process's mappings.
type refreshes struct {
	last    int64 // when it was, CLOCK_MONOTONIC ns
	cost    int64 // the processor time that sets when the next may be, ns
	loading int64 // processor time of readings that met new code, less a share of the time since, ns
	asking  int64 // processor time of single questions, less a share of the time since, ns
	asked   int64 // when asking was as it is, CLOCK_MONOTONIC ns
}

// mayHelp reports whether the list may be read for a sample of a moment whose stack does not reach its end.
func (r *refreshes) mayHelp(at int64) bool { return at-r.last > max(refreshAfter, refreshShare*r.cost) }

// due reports whether it is to be read whatever the stacks say.
func (r *refreshes) due(at int64, starting bool) bool {
	age := at - r.last
	return age > refreshEvery || starting && age > max(refreshStart, refreshShare*r.cost)
}

// done takes note of a reading at a moment, and of the processor time that it took. loaded: there is more code than
// before.
func (r *refreshes) done(at, cost int64, loaded bool) {
	r.loading = max(r.loading-(at-r.last)/refreshShare, 0)
	r.last = at
	if loaded && r.loading < loadCredit {
		r.loading += cost
		return
	}
	r.cost = cost
}

// mayAsk reports whether single questions may be asked at a moment.
func (r *refreshes) mayAsk(at int64) bool {
	if at > r.asked {
		r.asking, r.asked = max(r.asking-(at-r.asked)/refreshShare, 0), at
	}
	return r.asking < askCredit
}

// hasAsked takes note of the processor time that questions took.
func (r *refreshes) hasAsked(cost int64) { r.asking += cost }
