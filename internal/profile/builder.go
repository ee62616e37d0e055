// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"sync"
	"time"

	"prywalk/internal/sample"
)

// Builder gathers intervals. Its methods may be called by several goroutines; all
// but Write and WriteFile return without waiting for a write that is under way.
type Builder struct {
	mu       sync.Mutex
	meta     Meta
	end      time.Time
	comments []string
	tables   tables
	journal  journal
	sums     sums
	between  func()
}

// NewBuilder starts a recording.
func NewBuilder(meta Meta) *Builder {
	b := &Builder{meta: meta, tables: newTables()}
	b.journal.spill.dir = meta.SpillTo
	if meta.Main != nil {
		b.tables.module(meta.Main)
	}
	return b
}

// Intern gives a stack its number; equal stacks get the same. The innermost entry
// comes first. An empty stack becomes "[no stack]", because a sample without a
// location would vanish in every tool. The slice is not kept.
func (b *Builder) Intern(stack []Loc) sample.StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.stack(stack)
}

// Loc gives a location its number; equal ones get the same. It holds as long as the Builder.
func (b *Builder) Loc(l *Loc) LocID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return LocID(b.tables.loc(l))
}

// InternLocs is Intern for a stack of locations that have numbers.
func (b *Builder) InternLocs(stack []LocID) sample.StackID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.stackOf(stack)
}

// Released says that this description will not come again by this pointer: what is kept to find it faster can go.
// What was recorded by it stays.
func (b *Builder) Released(m *ModuleInfo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.tables.byPointer, m)
}

// Sizes are the numbers of entries in a recording's tables: what it must remember. Labels are those in memory.
type Sizes struct{ Modules, Locations, Stacks, Labels int }

// Sizes gives them.
func (b *Builder) Sizes() Sizes {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tables
	return Sizes{len(t.modules), len(t.locs), len(t.stacks), len(t.labels) + b.journal.eras.size()}
}

// Add appends an interval.
func (b *Builder) Add(iv Interval) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.meta.Discard {
		return
	}
	if b.meta.Aggregate {
		b.sums.add(iv.Stack, b.tables.labelSet(&iv), &iv)
		return
	}
	b.journal.append(iv.Stack, &iv)
}

// SetMain says which module is the main binary, when that is known only later.
func (b *Builder) SetMain(m *ModuleInfo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tables.module(m)
	b.meta.Main = m
}

// SetWindow sets when the recording began and ended, for the profile's time and duration: what lies
// before and after, preparation and names, is none of it. Unset, the beginning is that of [Meta], and a
// write takes the present moment for the end.
func (b *Builder) SetWindow(begin, end time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meta.Start, b.end = begin, end
}

// SetComments replaces the profile's comments: the accounting, one line each.
func (b *Builder) SetComments(lines ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.comments = append([]string(nil), lines...)
}

// SetBetween sets what a write calls again and again while it goes through the intervals, after some milliseconds
// each time, on its own goroutine; nil for nothing. It may call the Builder's other methods: the write has what was
// there when it began.
func (b *Builder) SetBetween(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.between = f
}
