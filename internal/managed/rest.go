// SPDX-License-Identifier: Apache-2.0

package managed

// restEvery is how often what no walk meets any more is looked for, in nanoseconds. What is dropped was not met for as
// long.
const restEvery = 60e9

// Rest says when what a run-time system has told is to be dropped, as no walk has met it for long. Programs load
// classes, make functions and start threads for days, and drop them all. What is met later is read anew. The zero value
// is ready.
type Rest struct {
	last int64 // when something was dropped, CLOCK_MONOTONIC ns
}

// Due reports whether that is to be done now, and since when what is kept must have been met: the last time but one. at
// is when the copy of this walk was made (CLOCK_MONOTONIC, ns).
func (r *Rest) Due(at int64) (since int64, due bool) {
	if at-r.last < restEvery {
		return 0, false
	}
	since, r.last = r.last, at
	return since, true
}
