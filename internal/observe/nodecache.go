// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// # Nodes of the last observation
//
// Frames that are objects lie anywhere, and most are those of the last observation. Before a stop the kernel is asked
// which are in memory; in the stop these are read in one call, and new ones singly.

const mostCachedNodes = procmem.MostPlaces

type presentNodes struct {
	cache *nodeCache
	found int
	parts [mostCachedNodes]frames.Region
}

// nodeCache are nodes of a thread's last chain outside of other regions.
type nodeCache struct {
	at       [mostCachedNodes]frames.Addr
	n        int
	present  [mostCachedNodes]bool
	pieces   [mostCachedNodes]nodePiece
	count    int
	until    int64 // valid until, CLOCK_MONOTONIC ns; 0: not known
	failures int   // failures in a row
	next     [mostCachedNodes]frames.Addr
}

type nodePiece struct{ from, to frames.Addr }

const mostFailures = 4

// checkPresent checks the nodes' pages, and joins nodes of one page: fewer places are faster.
func (a *nodeCache) checkPresent(m *procmem.Memory, size uint64) {
	if a.until = 0; a.n == 0 || a.failures == mostFailures {
		return
	}
	a.until, a.count = m.CheckPlaces(a.at[:a.n], size, a.present[:a.n]), 0
	for i, at := range a.at[:a.n] {
		if a.present[i] {
			a.put(nodePiece{at, at + size})
		}
	}
}

func (a *nodeCache) put(n nodePiece) {
	page := n.from &^ (planPage - 1)
	for i := range a.pieces[:a.count] {
		if p := &a.pieces[i]; p.from&^(planPage-1) == page && n.to-page <= planPage && p.to-page <= planPage {
			p.from, p.to = min(p.from, n.from), max(p.to, n.to)
			return
		}
	}
	a.pieces[a.count] = n
	a.count++
}

// readCachedNodes reads the checked nodes once; false if there are none.
func (p *planned) readCachedNodes() bool {
	a, n, used := p.cache, 0, p.used
	if a == nil || a.until == 0 {
		return false
	}
	until := a.until
	a.until = 0
	for _, piece := range a.pieces[:a.count] {
		size := int(piece.to - piece.from)
		if p.n+n == len(p.out) || size > len(p.buf)-used {
			break
		}
		p.parts[n] = frames.Region{Addr: piece.from, Bytes: p.buf[used : used+size]}
		used += size
		n++
	}
	got := p.rd.ReadPresent(p.parts[:n], until)
	switch {
	case got > 0:
		a.failures = 0
	case n > 0 && procmem.Now() < until: // else the answer was too old
		a.failures++
	}
	before := p.n
	for i := 0; i < n && got >= len(p.parts[i].Bytes); i++ {
		got -= len(p.parts[i].Bytes)
		p.used += len(p.parts[i].Bytes)
		p.out[p.n] = p.parts[i]
		p.n++
	}
	return p.n > before
}

// denseNodes is the distance, in sizes of a node, of nodes that are read together anyway.
const denseNodes = 3

// cacheNode keeps a node for the next observation, unless it is in an older region.
func (p *planned) cacheNode(at frames.Addr, size uint64, before int) {
	a := p.cache
	if a == nil || p.first != nil || p.lastIn < before || p.found == mostCachedNodes {
		return
	}
	if near := denseNodes * size; p.found > 0 && at-a.next[p.found-1]+near <= 2*near {
		return
	}
	a.next[p.found] = at
	p.found++
}

// checkPlan checks before a stop what the plan's first copy will read.
func (t *Thread) checkPlan() {
	n := t.hints.get()
	if n.Plan == nil || n.Anchor == 0 || t.Memory == nil || len(n.Plan.Steps) == 0 {
		return
	}
	if s := &n.Plan.Steps[0]; s.Op == managed.Copy && s.Base == 0 && s.End == 0 {
		t.Memory.CheckPresent(n.Anchor+uint64(s.Off), int(s.Max))
	}
	if t.ranges == nil {
		t.ranges = &rangeCache{}
	}
	t.ranges.checkPresent(t.Memory)
	t.checkNodes()
}

func (t *Thread) checkNodes() {
	n := t.hints.get()
	if n.Plan == nil || t.Memory == nil {
		return
	}
	i := slices.IndexFunc(n.Plan.Steps, func(s managed.Step) bool { return s.Op == managed.Chain })
	if i < 0 {
		return
	}
	if t.nodes == nil {
		t.nodes = &nodeCache{}
	}
	t.nodes.checkPresent(t.Memory, uint64(n.Plan.Steps[i].Size))
}
