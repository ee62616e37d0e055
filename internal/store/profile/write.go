// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"time"
)

type frozenTables struct {
	numbered
	meta      Meta
	end       time.Time
	comments  []string
	chunks    []chunk
	sums      []record
	main      int // index of the main binary's module, −1 if none
	evictions int
	lost      error // a [*lostError]; set by encode
}

// freeze returns the present tables. Precondition: b.mu is held.
func (b *Builder) freeze() *frozenTables {
	main := -1
	if b.meta.Main != nil {
		main = int(b.tables.module(b.meta.Main))
	}
	v := &frozenTables{
		numbered: b.tables.numbered, meta: b.meta, end: b.end, comments: b.comments,
		chunks: slices.Clone(b.journal.chunks), sums: slices.Clone(b.sums.rows),
		main: main, evictions: b.evicted,
	}
	if lost := time.Unix(0, b.journal.ring.lost); b.journal.ring.lost != 0 && lost.After(v.meta.Start) {
		v.meta.Start = lost
	}
	v.modules, v.finalNames = slices.Clone(v.modules), slices.Clone(v.finalNames)
	if v.end.IsZero() {
		v.end = time.Now()
	}
	return v
}

// Write writes a compressed profile of the intervals so far; more may be added meanwhile. A nil r names nothing.
func (b *Builder) Write(w io.Writer, r Resolver) error {
	b.mu.Lock()
	v := b.freeze()
	b.mu.Unlock()
	return b.writeFrozen(w, v, r)
}

func (b *Builder) writeFrozen(w io.Writer, v *frozenTables, r Resolver) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	zip, err := gzip.NewWriterLevel(buf, gzip.BestSpeed)
	if err != nil {
		return err
	}
	final, err := v.encode(zip, r)
	if err == nil {
		b.noteEncoded(v, final)
		err = cmp.Or(zip.Close(), buf.Flush())
	}
	if err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	return nil
}

// Value types, in the order of a sample's values.
const (
	// TypeSamples counts ticks and kernel samples.
	TypeSamples = "samples"
	// TypeWall is wall time, ns.
	TypeWall = "wall"
	// TypeRunQueue is time in the run queue, ns.
	TypeRunQueue = "runqueue"
	// TypeCPU is time on a CPU, ns.
	TypeCPU = "cpu"
)

// Nanoseconds is the unit of times in profiles.
const Nanoseconds = "nanoseconds"

var valueTypes = []struct{ name, unit string }{
	{TypeSamples, "count"}, {TypeWall, Nanoseconds}, {TypeRunQueue, Nanoseconds}, {TypeCPU, Nanoseconds},
}

// finalName is the names of a location whose module no live process has. Resolvers can drop the files' tables.
type finalName struct {
	loc   int
	names []Frame
}

// noteEncoded keeps final names, unless an eviction has renumbered their locations, and what the write lacks.
func (b *Builder) noteEncoded(v *frozenTables, final []finalName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = v.lost
	if b.evicted != v.evictions {
		return
	}
	for _, f := range final {
		b.tables.keepFinal(f.loc, f.names)
	}
}

func (t *tables) keepFinal(loc int, names []Frame) {
	if loc >= len(t.finalNames) {
		t.finalNames = append(t.finalNames, make([]FramesID, len(t.locs)-len(t.finalNames))...)
	}
	t.finalNames[loc] = t.internFrames(names)
}
