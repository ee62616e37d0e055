// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"iter"

	"prywalk/internal/sample"
)

// Sink takes intervals when they are final, in the order in which they were booked. A [Builder] is one: it keeps them.
type Sink interface {
	// Add takes an interval. Its stack is a number of the Builder that has interned it.
	Add(iv Interval)
}

// Watcher is a Sink that shows threads' time while it goes on.
type Watcher interface {
	Sink
	// Refresh tells that all that was seen until a moment, in nanoseconds of the Unix epoch, has been added, but for
	// what goes on. open gives that as far as it has come. It is added later, and is longer then. It is called on the
	// goroutine that calls Add, which it holds up.
	Refresh(at int64, open iter.Seq[Interval])
}

// Stack appends the locations of a stack, innermost first.
func (b *Builder) Stack(id sample.StackID, out []LocID) []LocID {
	b.mu.Lock()
	s := b.tables.stacks[id]
	b.mu.Unlock()
	for ; len(s) > 0; s = s[locSize:] {
		out = append(out, LocID(uint32(s[0])|uint32(s[1])<<8|uint32(s[2])<<16|uint32(s[3])<<24))
	}
	return out
}

// LocOf gives the location that has this number. Its address is that in the first of several equal modules.
func (b *Builder) LocOf(id LocID) Loc {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tables
	l := t.locs[id]
	out := Loc{Described: l.described, Machinery: l.machinery}
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
