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
	module *frames.Module
	addr   frames.Addr
	runs   bool // runs managed frames
	loc    profile.LocID
}

func (c *locationCache) slot(addr frames.Addr) *cachedLocation {
	return &c[addr*0x9e3779b97f4a7c15>>(64-locationBits)] // Fibonacci hashing
}

func (b *stackBuilder) location(p *processState, m *frames.Module, addr frames.Addr, machinery bool) profile.LocID {
	cached := b.locations.slot(addr)
	if m == nil || cached.module != m || cached.addr != addr || cached.runs != machinery {
		loc := b.builder.Loc(&profile.Loc{Module: b.module(p, m), Addr: addr, Machinery: machinery})
		*cached = cachedLocation{m, addr, machinery, loc}
	}
	return cached.loc
}

// leafStacks are those with a synthetic innermost frame, emptied at maxLeaves.
type leafStacks struct {
	builder *profile.Builder
	known   map[leafKey]sample.StackID
}

const maxLeaves = 1 << 14

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
	if len(l.known) >= maxLeaves {
		clear(l.known)
	}
	l.known[key] = with
	return with
}
