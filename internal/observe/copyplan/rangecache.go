// SPDX-License-Identifier: Apache-2.0

package copyplan

import (
	"os"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// # Ranges of the last observation
//
// Those present before a stop are read together.

const (
	maxRanges     = 24
	maxRangeBytes = 96 << 10
	minRanges     = 2
	rangeShrinks  = 4 // an unused end shrinks by 1/rangeShrinks in each observation
)

type memoryRange struct{ from, to frames.Addr }

func (m memoryRange) size() uint64 { return m.to - m.from }

type rangeCache struct {
	ranges [maxRanges]memoryRange
	n      int
	until  int64 // CLOCK_MONOTONIC ns; 0: unknown
}

func (cache *rangeCache) checkPresent(m *procmem.Memory) {
	cache.until = 0
	if cache.n < minRanges {
		return
	}
	var pages [procmem.MaxPlaces]uint64
	var there [procmem.MaxPlaces]bool
	size, n := uint64(os.Getpagesize()), 0
	for _, span := range cache.ranges[:cache.n] {
		for page := span.from &^ (size - 1); page < span.to && n < len(pages); page += size {
			pages[n] = page
			n++
		}
	}
	until := m.CheckPlaces(pages[:n], size, there[:n])
	kept, i := 0, 0
	for _, span := range cache.ranges[:cache.n] {
		end, cut := span.from, false
		for page := span.from &^ (size - 1); page < span.to && i < n; page += size {
			cut = cut || !there[i]
			if !cut {
				end = page + size
			}
			i++
		}
		span.to = min(span.to, end)
		if span.to > span.from {
			cache.ranges[kept] = span
			kept++
		}
	}
	cache.n = kept
	if kept >= minRanges {
		cache.until = until
	}
}

type usedRanges struct {
	cache        *rangeCache // or nil
	first        int         // region of the first range
	count        int
	used         [maxRanges]memoryRange
	sameEachTime bool // the step reads the same ranges each time
	fresh        [maxRanges]memoryRange
	freshCount   int
}

func (u *usedRanges) begin() {
	clear(u.used[:u.count])
	u.first = 0
	u.count = 0
	u.freshCount = 0
	u.sameEachTime = false
}

func (c *Copier) readRanges() {
	u := &c.ranges
	cache := u.cache
	u.begin()
	if cache == nil || cache.until == 0 {
		return
	}
	until := cache.until
	cache.until = 0
	u.first = c.regionCount
	c.readPresent(cache.ranges[:cache.n], until)
	u.count = c.regionCount - u.first
}

// Bytes of the largest node that may cross the end of a range.
const rangeOverlaps = 256

// readMissing reads what the last ranges lack of n bytes, and returns whether it got any.
func (c *Copier) readMissing(at frames.Addr, n uint64) bool {
	if n == 0 || c.copyOf(at, n) != nil {
		return n > 0
	}
	u := &c.ranges
	for i := u.first; i < u.first+u.count; i++ {
		from := c.out[i].Addr
		to := from + uint64(len(c.out[i].Bytes))
		switch {
		case from > at && from < at+n && to >= at+n:
			u.noteUsed(i, from, at+n-from)
			return c.read(at, min(from-at+rangeOverlaps, n))
		case from <= at && at < to:
			u.noteUsed(i, at, to-at)
			beyond := max(at, to-min(rangeOverlaps, to))
			return c.read(beyond, at+n-beyond)
		}
	}
	return c.read(at, n)
}

func (u *usedRanges) noteUsed(region int, from frames.Addr, size uint64) {
	i := region - u.first
	if i < 0 || i >= u.count {
		return
	}
	span := &u.used[i]
	if span.to == 0 {
		*span = memoryRange{from, from + size}
		return
	}
	span.from, span.to = min(span.from, from), max(span.to, from+size)
}

func (u *usedRanges) noteRead(from frames.Addr, size uint64) {
	if u.cache == nil || !u.sameEachTime || u.freshCount == len(u.fresh) {
		return
	}
	u.fresh[u.freshCount] = memoryRange{from, from + size}
	u.freshCount++
}

func (u *usedRanges) updateCache() {
	cache := u.cache
	if cache == nil {
		return
	}
	n, total := 0, uint64(0)
	add := func(span memoryRange) {
		for i := range cache.ranges[:n] {
			if other := &cache.ranges[i]; span.from <= other.to && other.from <= span.to {
				total -= other.size()
				other.from, other.to = min(other.from, span.from), max(other.to, span.to)
				total += other.size()
				return
			}
		}
		if n < len(cache.ranges) && total+span.size() <= maxRangeBytes {
			cache.ranges[n] = span
			n++
			total += span.size()
		}
	}
	for i, span := range u.used[:u.count] {
		if span.to == 0 {
			continue
		}
		was := cache.ranges[i] // of the last observation, as n <= i
		span.from -= (span.from - was.from) * (rangeShrinks - 1) / rangeShrinks &^ 7
		span.to += (was.to - span.to) * (rangeShrinks - 1) / rangeShrinks &^ 7
		add(span)
	}
	for _, span := range u.fresh[:u.freshCount] {
		add(span)
	}
	cache.n = n
}
