// SPDX-License-Identifier: Apache-2.0

package managed

// restEvery is the period of dropping unused entries, ns.
const restEvery = 60e9

// IdleEviction schedules the dropping of entries unused for long. The zero value is ready.
type IdleEviction struct {
	last int64 // CLOCK_MONOTONIC ns
}

// Due reports whether unused entries are to be dropped, and since when used ones were in a walk. at is the moment
// of the copy (CLOCK_MONOTONIC, ns).
func (r *IdleEviction) Due(at int64) (since int64, due bool) {
	if at-r.last < restEvery {
		return 0, false
	}
	since, r.last = r.last, at
	return since, true
}
