// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

type locationCache [1 << locationBits]cachedLocation

const locationBits = 12

type cachedLocation struct {
	module    *frames.Module
	addr      frames.Addr
	machinery bool // it runs managed frames
	loc       profile.LocID
}

func (c *locationCache) slot(addr frames.Addr) *cachedLocation {
	return &c[addr*0x9e3779b97f4a7c15>>(64-locationBits)] // Fibonacci hashing
}

func (b *stackBuilder) location(p *processState, m *frames.Module, addr frames.Addr, machinery bool) profile.LocID {
	cached := b.locations.slot(addr)
	if m == nil || cached.module != m || cached.addr != addr || cached.machinery != machinery {
		loc := b.builder.Loc(&profile.Loc{Module: b.module(p, m), Addr: addr, Machinery: machinery})
		*cached = cachedLocation{m, addr, machinery, loc}
	}
	return cached.loc
}

// maxCached is the number of entries at which [keep] empties a cache.
const maxCached = 1 << 14

func keep[K comparable, V any](cache map[K]V, key K, value V) {
	if len(cache) >= maxCached {
		clear(cache)
	}
	cache[key] = value
}

// leafStacks are those with a synthetic innermost frame.
type leafStacks struct {
	builder *profile.Builder
	known   map[leafKey]sample.StackID
}

type leafKey struct {
	stack sample.StackID
	leaf  string
}

func (l *leafStacks) stackOf(id sample.StackID, leaf string) sample.StackID {
	if leaf == "" {
		return id
	}
	key := leafKey{id, leaf}
	if with, ok := l.known[key]; ok {
		return with
	}
	with := l.builder.InternLeaf(id, leaf)
	keep(l.known, key, with)
	return with
}
