// SPDX-License-Identifier: Apache-2.0

package managed

const evictionPeriod = 60e9 // ns

// IdleEviction schedules the eviction of unused cache entries. The zero value is ready.
type IdleEviction struct {
	last int64
}

// Due reports whether to evict entries last used before since. at is the time of the walked copy.
func (r *IdleEviction) Due(at int64) (since int64, due bool) {
	if at-r.last < evictionPeriod {
		return 0, false
	}
	since, r.last = r.last, at
	return since, true
}
