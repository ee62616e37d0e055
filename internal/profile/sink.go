// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"iter"

	"prywalk/internal/sample"
)

// Sink receives final intervals, in the order of attribution, on the aggregator's goroutine. A [Builder] is a Sink; the
// others are made after it, and have the frames of its stacks from [NewNames].
type Sink interface {
	// Add takes an interval; its stack is a number of the Builder that interned it.
	Add(iv Interval)
}

// Watcher is a Sink that shows open intervals too.
type Watcher interface {
	Sink
	// Refresh is called on Add's goroutine when all time until at (Unix epoch, ns) is added, except open intervals:
	// these are passed as they are, and added later, longer.
	Refresh(at int64, open iter.Seq[Interval])
}

// TimelyWatcher sends intervals to another program. If Timely, CPU time without a sample is added after five seconds,
// not when its thread runs again.
type TimelyWatcher interface {
	Watcher
	Timely() bool
}

// StackHolder reports which stacks it needs; with another Sink nothing is evicted.
type StackHolder interface {
	Sink
	// HeldStacks returns the stacks that it will use again; not ok while another goroutine uses some.
	HeldStacks() (stacks iter.Seq[sample.StackID], ok bool)
}

// Stack appends a stack's locations, innermost first; none if it was evicted.
func (b *Builder) Stack(id sample.StackID, out []LocID) []LocID {
	b.mu.Lock()
	s := b.tables.stackOfID(id)
	b.mu.Unlock()
	for ; len(s) > 0; s = s[locSize:] {
		out = append(out, LocID(uint32(s[0])|uint32(s[1])<<8|uint32(s[2])<<16|uint32(s[3])<<24))
	}
	return out
}

// LocOf returns a location; its address is in the first of equal modules.
func (b *Builder) LocOf(id LocID) Loc {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables.locOf(id)
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
