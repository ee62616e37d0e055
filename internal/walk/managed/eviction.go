// SPDX-License-Identifier: Apache-2.0

package managed

const evictionPeriod = 60e9 // ns

// IdleEviction schedules the eviction of unused cache entries.
type IdleEviction struct {
	last int64
}

// Due reports whether to evict entries last used before since. at is the time of the walked copy.
func (e *IdleEviction) Due(at int64) (since int64, due bool) {
	if at-e.last < evictionPeriod {
		return 0, false
	}
	since, e.last = e.last, at
	return since, true
}
