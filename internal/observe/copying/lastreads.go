// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"os"
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// LastReads is what a thread's last observation has read. The zero value is of a new thread.
type LastReads struct {
	nodes       *nodeCache
	ranges      *rangeCache
	foundAnchor frames.Addr // or 0
}

// CheckPresent checks before a copy which of the last ranges and nodes are present; nothing if anchor is 0.
func (l *LastReads) CheckPresent(m *procmem.Memory, plan *managed.Plan, anchor frames.Addr) {
	if anchor == 0 || len(plan.Steps) == 0 {
		return
	}
	if l.ranges == nil {
		l.ranges = &rangeCache{}
	}
	l.ranges.checkPresent(m)
	l.CheckNodes(m, plan)
}

// CheckNodes checks before a copy which nodes of the last list are present.
func (l *LastReads) CheckNodes(m *procmem.Memory, plan *managed.Plan) {
	i := slices.IndexFunc(plan.Steps, func(s managed.Step) bool { return s.Op == managed.CopyList })
	if i < 0 {
		return
	}
	if l.nodes == nil {
		l.nodes = &nodeCache{}
	}
	l.nodes.checkPresent(m, uint64(plan.Steps[i].Size))
}

// # Nodes of the last observation
//
// Those present before a stop are read together when a list comes to the first that no region has.

const maxCachedNodes = procmem.MaxPlaces

type nodeCache struct {
	at         [maxCachedNodes]frames.Addr
	atCount    int
	present    [maxCachedNodes]bool
	pieces     [maxCachedNodes]memoryRange
	pieceCount int
	until      int64 // CLOCK_MONOTONIC ns; 0: unknown
	failures   int   // in a row
	next       [maxCachedNodes]frames.Addr
}

const maxFailures = 4

func (cache *nodeCache) checkPresent(m *procmem.Memory, size uint64) {
	cache.until = 0
	if cache.atCount == 0 || cache.failures == maxFailures {
		return
	}
	cache.until = m.CheckPlaces(cache.at[:cache.atCount], size, cache.present[:cache.atCount])
	cache.pieceCount = 0
	for i, at := range cache.at[:cache.atCount] {
		if cache.present[i] {
			cache.put(memoryRange{at, at + size})
		}
	}
}

func (cache *nodeCache) put(n memoryRange) {
	page := n.from &^ (pageSize - 1)
	for i := range cache.pieces[:cache.pieceCount] {
		if p := &cache.pieces[i]; p.from&^(pageSize-1) == page && n.to-page <= pageSize && p.to-page <= pageSize {
			p.from, p.to = min(p.from, n.from), max(p.to, n.to)
			return
		}
	}
	cache.pieces[cache.pieceCount] = n
	cache.pieceCount++
}

// readCachedNodes reads the checked nodes, once for each check, and returns whether it got any.
func (c *PlanCopier) readCachedNodes() bool {
	cache := c.cache
	if cache == nil || cache.until == 0 {
		return false
	}
	until, before := cache.until, c.regionCount
	cache.until = 0
	asked, got := c.readPresent(cache.pieces[:cache.pieceCount], until)
	switch {
	case got > 0:
		cache.failures = 0
	case asked > 0 && procmem.Now() < until: // else the check does not hold any more
		cache.failures++
	}
	return c.regionCount > before
}

// in sizes of a node
const denseNodes = 3

func (c *PlanCopier) cacheNode(at frames.Addr, size uint64, before int) {
	cache := c.cache
	if cache == nil || c.savedNodes != nil || c.lastIndex < before || c.nextCount == maxCachedNodes {
		return
	}
	if near := denseNodes * size; c.nextCount > 0 && at-cache.next[c.nextCount-1]+near <= 2*near {
		return
	}
	cache.next[c.nextCount] = at
	c.nextCount++
}

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

func (c *PlanCopier) readRanges() {
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
func (c *PlanCopier) readMissing(at frames.Addr, n uint64) bool {
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
