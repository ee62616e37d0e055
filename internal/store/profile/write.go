// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

type frozenTables struct {
	numbered
	meta      Meta
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
		numbered: b.tables.numbered, meta: b.meta, chunks: slices.Clone(b.journal.chunks), sums: slices.Clone(b.sums.rows),
		main: main, evictions: b.evicted,
	}
	if lost := time.Unix(0, b.journal.ring.lost); b.journal.ring.lost != 0 && lost.After(v.meta.Start) {
		v.meta.Start = lost
	}
	v.modules, v.finalNames = slices.Clone(v.modules), slices.Clone(v.finalNames)
	if v.meta.End.IsZero() {
		v.meta.End = time.Now()
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
		b.keepFinalNames(v, final)
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
	// TypeWall is wall time, in nanoseconds.
	TypeWall = "wall"
	// TypeRunQueue is time in the run queue, in nanoseconds.
	TypeRunQueue = "runqueue"
	// TypeCPU is time on a CPU, in nanoseconds.
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

// keepFinalNames keeps final names, unless an eviction has renumbered their locations, and what the write lacks.
func (b *Builder) keepFinalNames(v *frozenTables, final []finalName) {
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

// Rotate writes the intervals so far as [Builder.WriteFile] does, and begins a new part. Stacks, locations and names
// stay until [Builder.Evict]. After an error the new part has all intervals.
func (b *Builder) Rotate(path string, r Resolver) error {
	b.mu.Lock()
	frozen, ended, chunks := b.freeze(), b.sums, len(b.journal.chunks)
	b.sums = sums{}
	b.journal.beginChunk()
	b.mu.Unlock()
	err := writeFile(path, " with -o", func(w io.Writer) error { return b.writeFrozen(w, frozen, r) })
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		for i := range b.sums.rows {
			ended.add(&b.sums.rows[i])
		}
		b.sums = ended
		return err
	}
	b.rotated, b.meta.Start = true, frozen.meta.End
	b.journal.dropWritten(chunks, &b.meta)
	return nil
}

// PartStart returns the start of the present part.
func (b *Builder) PartStart() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.meta.Start
}

// Join returns the sum of recordings, such as the parts of [Builder.Rotate]. It lasts from the begin of the first to
// the end of the last. It fails if their clocks differ.
func Join(all []*profile.Profile) (*profile.Profile, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	sum, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("%w; give recordings with the same clocks", err)
	}
	end := int64(0)
	for _, p := range all {
		end = max(end, p.TimeNanos+p.DurationNanos)
	}
	if sum.TimeNanos != 0 {
		sum.DurationNanos = end - sum.TimeNanos
	}
	sum.Comments = slices.DeleteFunc(sum.Comments, func(c string) bool {
		return strings.HasPrefix(c, "part ") && strings.HasSuffix(c, partOf)
	})
	return sum, nil
}

const partOf = " of a recording that goes on"

// PartComment is the comment of part n, from 1, of a recording.
func PartComment(n int) string { return fmt.Sprintf("part %d%s", n, partOf) }
