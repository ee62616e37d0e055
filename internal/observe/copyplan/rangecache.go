// SPDX-License-Identifier: Apache-2.0

package copyplan

import (
	"os"
	"slices"

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

// addPages appends the addresses of the range's pages, as far as there is room.
func (m memoryRange) addPages(to []uint64, pageSize uint64) []uint64 {
	for page := m.from &^ (pageSize - 1); page < m.to && len(to) < cap(to); page += pageSize {
		to = append(to, page)
	}
	return to
}

// cut returns the range up to its first page that is absent or not in there.
func (m memoryRange) cut(there []bool, pageSize uint64) memoryRange {
	n := slices.Index(there, false)
	if n < 0 {
		n = len(there)
	}
	m.to = max(min(m.to, m.from&^(pageSize-1)+uint64(n)*pageSize), m.from)
	return m
}

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
	var pageRoom [procmem.MaxPlaces]uint64
	var there [procmem.MaxPlaces]bool
	var ends [maxRanges]int // in pages
	pages, size := pageRoom[:0], uint64(os.Getpagesize())
	for i, span := range cache.ranges[:cache.n] {
		pages = span.addPages(pages, size)
		ends[i] = len(pages)
	}
	until := m.CheckPlaces(pages, size, there[:len(pages)])
	kept, begin := 0, 0
	for i, span := range cache.ranges[:cache.n] {
		if span = span.cut(there[begin:ends[i]], size); span.size() > 0 {
			cache.ranges[kept] = span
			kept++
		}
		begin = ends[i]
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
