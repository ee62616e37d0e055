// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"iter"

	"prywalk/internal/sample"
)

// Sizes at which a discarding Builder evicts, unless twice those after the last eviction are more.
const (
	maxStacks    = 1 << 15
	maxLocations = 1 << 16
)

// NeedsEviction reports whether an eviction is due: after a part was written, or for large tables of a discarding
// Builder.
func (b *Builder) NeedsEviction() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rotated || !b.meta.Discard {
		return b.rotated
	}
	n := b.sizes()
	return n.Stacks >= max(maxStacks, 2*b.needed.Stacks) || n.Locations >= max(maxLocations, 2*b.needed.Locations)
}

// BeginEpoch begins an epoch. Stacks used in an epoch are kept to the end of the next.
func (b *Builder) BeginEpoch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables.used = [2]map[sample.StackID]struct{}{{}, b.tables.used[0]}
}

func (t *tables) markUsed(id sample.StackID) {
	if t.used[0] != nil {
		t.used[0][id] = struct{}{}
	}
}

// Evict bounds the tables of a recording without end. It keeps the stacks of the sequence, of kept intervals, and of
// this epoch and the last, with their numbers; locations and frame lists are renumbered. An evicted stack has no
// locations, and a new number when interned again. Without [Meta].Discard or Rotates Evict does nothing. Precondition:
// no number of a location or frame list is used after a change of [Builder.Evictions].
func (b *Builder) Evict(except iter.Seq[sample.StackID]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.meta.Discard && !b.meta.Rotates {
		return
	}
	old, now := &b.tables, newTables()
	now.base, now.kept = old.base+sample.StackID(len(old.stacks)), map[sample.StackID]string{}
	if b.meta.Main != nil {
		now.module(b.meta.Main)
	}
	moved := map[uint32]uint32{}
	var key []byte // internFrames uses t.key
	now.used = old.used
	keep := func(yield func(sample.StackID) bool) {
		for _, epoch := range old.used {
			for id := range epoch {
				if !yield(id) {
					return
				}
			}
		}
		b.stacksOfIntervals(yield)
		except(yield)
	}
	for id := range keep {
		s := old.stackOfID(id)
		if _, ok := now.kept[id]; ok || s == "" {
			continue
		}
		key = key[:0]
		for ; len(s) > 0; s = s[locSize:] {
			l := binary.LittleEndian.Uint32([]byte(s[:locSize]))
			to, ok := moved[l]
			if !ok {
				loc := old.locOf(LocID(l))
				if loc.FramesID != 0 {
					loc.FramesID = now.internFrames(old.frameLists[loc.FramesID-1])
				}
				to = now.loc(&loc)
				moved[l] = to
				if int(l) < len(old.finalNames) && old.finalNames[l] != 0 {
					now.keepFinal(int(to), old.frameLists[old.finalNames[l]-1])
				}
			}
			key = binary.LittleEndian.AppendUint32(key, to)
		}
		text := string(key)
		now.kept[id] = text
		if _, ok := now.byStack[text]; !ok {
			now.byStack[text] = id
		}
	}
	for i := range b.sums.rows {
		b.sums.rows[i].labels = now.labelNumber(old.labels[b.sums.rows[i].labels])
	}
	b.sums.reindex()
	b.tables = now
	b.evicted++
	b.rotated, b.needed = false, b.sizes()
}

func (b *Builder) stacksOfIntervals(yield func(sample.StackID) bool) {
	for i := range b.sums.rows {
		yield(b.sums.rows[i].stack)
	}
	_ = eachRecord(b.journal.chunks, nil, nil, func(r *record) error { // the write reports read errors
		yield(r.stack)
		return nil
	})
}

// Evictions counts evictions, each of which renumbers locations and frame lists.
func (b *Builder) Evictions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.evicted
}

// stackOfID returns locSize bytes per location; "" if evicted.
func (t *tables) stackOfID(id sample.StackID) string { return findStack(t.stacks, t.base, t.kept, id) }

func (v *frozenTables) stackOfID(id sample.StackID) string {
	return findStack(v.stacks, v.base, v.kept, id)
}

func findStack(stacks []string, base sample.StackID, kept map[sample.StackID]string, id sample.StackID) string {
	if id >= base && int(id-base) < len(stacks) {
		return stacks[id-base]
	}
	return kept[id]
}
