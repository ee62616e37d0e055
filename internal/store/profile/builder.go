// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"sync"
	"time"

	"prywalk/internal/base/sample"
)

// Builder collects the intervals of a recording. Safe for concurrent use, but for only one write at a time
// ([Builder.Write], [Builder.WriteFile], [Builder.Rotate]). A write delays other methods only while it copies the heads
// of the tables.
type Builder struct {
	mu      sync.Mutex
	meta    Meta
	tables  tables
	journal journal
	sums    sums
	evicted int
	rotated bool  // a part was written since the last eviction
	needed  Sizes // after the last eviction
	lost    error // a [*lostError]
}

// NewBuilder returns an empty Builder.
func NewBuilder(meta Meta) *Builder {
	return &Builder{meta: meta, tables: newTables(), journal: newJournal(&meta)}
}

// Intern numbers a stack, innermost entry first. An empty one becomes "[no stack]", since tools drop samples without
// locations. The slice is not kept.
func (b *Builder) Intern(stack []Loc) sample.StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.stack(stack)
}

// Loc numbers a location, until an eviction ([Builder.Evictions]).
func (b *Builder) Loc(l *Loc) LocID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return LocID(b.tables.loc(l))
}

// InternLocs is [Builder.Intern] for numbered locations.
func (b *Builder) InternLocs(stack []LocID) sample.StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.stackOf(stack)
}

// Sizes are numbers of table entries, without label sets of earlier chunks.
type Sizes struct{ Modules, Locations, Stacks, Labels int }

// Sizes returns the numbers of entries.
func (b *Builder) Sizes() Sizes {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sizes()
}

func (b *Builder) sizes() Sizes {
	t := &b.tables
	return Sizes{len(t.modules), len(t.locs), len(t.stacks) + len(t.survivors), len(t.labels) + len(b.journal.labels)}
}

// Add appends an interval.
func (b *Builder) Add(iv Interval) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.meta.Discard {
		return
	}
	if b.meta.Aggregate {
		iv.Labels = WithoutChainLabels(iv.Labels)
		b.sums.add(&record{stack: iv.Stack, labels: b.tables.labelNumber(labelsOf(&iv)), samples: iv.Samples, wall: iv.Wall,
			runqueue: iv.RunQueue, cpu: iv.CPU})
		return
	}
	b.journal.append(&iv)
}

// Update changes what describes the recording.
func (b *Builder) Update(change func(*Meta)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.meta)
}

// SetWindow sets begin and end.
func (b *Builder) SetWindow(begin, end time.Time) {
	b.Update(func(m *Meta) { m.Start, m.End = begin, end })
}

// Lost returns nil if the last write has all intervals, else an error with the number of those that could not be read
// from the file in [Meta].SpillTo.
func (b *Builder) Lost() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// InternLeaf numbers a stack with a synthetic innermost entry added, such as "[ran between ticks]".
func (b *Builder) InternLeaf(id sample.StackID, leaf string) sample.StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tables
	t.key = append(t.appendLocs(t.key[:0], []Loc{{Synthetic: leaf}}), t.stackOfID(id)...)
	return t.internKey()
}
