// SPDX-License-Identifier: Apache-2.0

package copyplan

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
)

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
func (c *Copier) readCachedNodes() bool {
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

func (c *Copier) cacheNode(at frames.Addr, size uint64, before int) {
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
