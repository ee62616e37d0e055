// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"iter"

	"prywalk/internal/base/sample"
)

// Sink receives final intervals, in the order of attribution, on the aggregator's goroutine. Other sinks than a
// [Builder] have the frames of its stacks from [NewNames].
type Sink interface {
	// Add takes an interval with a stack of the Builder.
	Add(iv Interval)
}

// Watcher is a Sink that shows open intervals too.
type Watcher interface {
	Sink
	// Refresh is called on Add's goroutine when all time until at (in nanoseconds of Unix time) is added, except open
	// intervals: these are passed as they are, and added later, longer.
	Refresh(at int64, open iter.Seq[Interval])
}

// Cutter is a Sink that takes the time so far in parts, as one that sends it to another program.
type Cutter interface {
	Sink
	// RefreshCut is called on Add's goroutine when all time until at (in nanoseconds of Unix time) is added, except open
	// intervals: cut adds these, as far as they are known, and CPU time that has had no sample for five seconds. What
	// follows is added as further intervals.
	RefreshCut(at int64, cut func())
}

// StackHolder reports the stacks that it needs; with another Sink nothing is evicted.
type StackHolder interface {
	Sink
	// HeldStacks returns the stacks that it will use again; not ok while another goroutine uses some.
	HeldStacks() (stacks iter.Seq[sample.StackID], ok bool)
}

// Stack appends a stack's locations, innermost first, with interned frames; none if it was evicted. The locations' IDs
// hold while [Builder.Evictions] is evictions.
func (b *Builder) Stack(id sample.StackID, out []Named) (locs []Named, evictions int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := b.tables.stackOfID(id); len(s) > 0; s = s[locSize:] {
		l := Named{ID: LocID(firstLoc(s))}
		l.Loc = b.tables.locOf(l.ID)
		if l.FramesID != 0 {
			l.Frames = b.tables.frameLists[l.FramesID-1]
		}
		out = append(out, l)
	}
	return out, b.evicted
}

func (t *tables) locOf(id LocID) Loc {
	l := t.locs[id]
	out := Loc{FramesID: l.framesID, Machinery: l.machinery}
	switch {
	case l.synthetic != 0:
		out.Synthetic = t.names[l.synthetic-1]
	case l.module != 0:
		out.Module, out.Addr = t.modules[l.module-1], l.addr
	default:
		out.Addr = l.addr
	}
	return out
}
