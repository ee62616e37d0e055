// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"

	"prywalk/internal/base/sample"
)

// A Builder that discards intervals, or keeps a ring of them, evicts at these sizes, or twice those after the last
// eviction if larger. Precondition: each sink is a [StackHolder].
const (
	maxStacks    = 1 << 15
	maxLocations = 1 << 16
)

// NeedsEviction reports whether an eviction is due: after a part was written, or for large tables of a Builder that
// discards intervals or keeps a ring of them.
func (b *Builder) NeedsEviction() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rotated || !b.meta.Discard && b.meta.Ring == 0 {
		return b.rotated
	}
	n := b.sizes()
	return n.Stacks >= max(maxStacks, 2*b.needed.Stacks) || n.Locations >= max(maxLocations, 2*b.needed.Locations)
}

// BeginEpoch begins an epoch. Stacks used in an epoch are kept to the end of the next.
func (b *Builder) BeginEpoch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables.usedByEpoch = [2]map[sample.StackID]struct{}{{}, b.tables.usedByEpoch[0]}
}

func (t *tables) markUsed(id sample.StackID) {
	if t.usedByEpoch[0] != nil {
		t.usedByEpoch[0][id] = struct{}{}
	}
}

// Evict bounds the tables, if [Meta].Discard or Rotates. It keeps, with their numbers, the stacks in except, those of
// kept intervals, and those of this epoch and the last. Locations and frame lists are renumbered. An evicted stack has
// no locations, and gets a new number when interned again. Precondition: no number of a location or frame list is used
// after a change of [Builder.Evictions].
func (b *Builder) Evict(except iter.Seq[sample.StackID]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.meta.Discard && !b.meta.Rotates {
		return
	}
	old, kept := &b.tables, newTables()
	kept.base, kept.survivors = old.base+sample.StackID(len(old.stacks)), map[sample.StackID]string{}
	kept.usedByEpoch = old.usedByEpoch
	m := tableMove{from: old, to: &kept, locations: map[uint32]uint32{}}
	for _, epoch := range old.usedByEpoch {
		for id := range epoch {
			m.stack(id)
		}
	}
	b.eachStackOfIntervals(m.stack)
	for id := range except {
		m.stack(id)
	}
	rows := b.sums.rows
	b.sums = sums{}
	for _, r := range rows {
		r.labels = kept.labelNumber(old.labels[r.labels])
		b.sums.add(&r)
	}
	b.tables = kept
	b.evicted++
	b.rotated, b.needed = false, b.sizes()
}

type tableMove struct {
	from, to  *tables
	locations map[uint32]uint32 // old to new number
	key       []byte            // not to.key, which internFrames uses
}

func (m *tableMove) stack(id sample.StackID) {
	s := m.from.stackOfID(id)
	if _, ok := m.to.survivors[id]; ok || s == "" {
		return
	}
	m.key = m.key[:0]
	for ; len(s) > 0; s = s[locSize:] {
		m.key = binary.LittleEndian.AppendUint32(m.key, m.location(firstLoc(s)))
	}
	text := string(m.key)
	m.to.survivors[id] = text
	if _, ok := m.to.byStack[text]; !ok {
		m.to.byStack[text] = id
	}
}

func (m *tableMove) location(l uint32) uint32 {
	if n, ok := m.locations[l]; ok {
		return n
	}
	loc := m.from.locOf(LocID(l))
	if loc.FramesID != 0 {
		loc.FramesID = m.to.internFrames(m.from.frameLists[loc.FramesID-1])
	}
	n := m.to.loc(&loc)
	m.locations[l] = n
	if int(l) < len(m.from.finalNames) && m.from.finalNames[l] != 0 {
		m.to.keepFinal(int(n), m.from.frameLists[m.from.finalNames[l]-1])
	}
	return n
}

func (b *Builder) eachStackOfIntervals(f func(sample.StackID)) {
	for i := range b.sums.rows {
		f(b.sums.rows[i].stack)
	}
	_ = eachRecord(b.journal.chunks, func(r *record) error { // the write reports read errors
		f(r.stack)
		return nil
	})
}

// Evictions counts evictions; each renumbers locations and frame lists.
func (b *Builder) Evictions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.evicted
}

// StackIDs returns the numbers of all stacks in the tables, in ascending order.
func (b *Builder) StackIDs() []sample.StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tables
	ids := slices.AppendSeq(make([]sample.StackID, 0, len(t.survivors)+len(t.stacks)), maps.Keys(t.survivors))
	slices.Sort(ids)
	for i := range t.stacks {
		ids = append(ids, t.base+sample.StackID(i))
	}
	return ids
}

// stackOfID returns locSize bytes per location; "" if evicted.
func (n *numbered) stackOfID(id sample.StackID) string {
	if id >= n.base && int(id-n.base) < len(n.stacks) {
		return n.stacks[id-n.base]
	}
	return n.survivors[id]
}
