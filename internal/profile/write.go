// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"time"

	"prywalk/internal/sample"
)

// frozenTables is an immutable view of a Builder's tables.
type frozenTables struct {
	meta        Meta
	end         time.Time
	comments    []string
	modules     []*ModuleInfo
	names       []string
	locs        []location
	frameLists  [][]Frame
	finalNames  []FramesID
	stacks      []string
	base        sample.StackID
	kept        map[sample.StackID]string
	labels      []labelSet
	generations []generation
	chunks      []chunk
	sums        []record
	main        int // index of the main binary's module, −1 if none
	yield       func()
}

func (b *Builder) freeze() *frozenTables {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.freezeLocked()
}

// freezeLocked returns the present view. Precondition: b.mu is held.
func (b *Builder) freezeLocked() *frozenTables {
	v := &frozenTables{
		meta: b.meta, end: b.end, comments: b.comments,
		modules: slices.Clone(b.tables.modules), names: b.tables.names, locs: b.tables.locs, frameLists: b.tables.frameLists,
		finalNames: slices.Clone(b.tables.finalNames),
		stacks:     b.tables.stacks, base: b.tables.base, kept: b.tables.kept, labels: b.tables.labels,
		generations: slices.Clone(b.journal.generations.all),
		chunks:      slices.Clone(b.journal.chunks), sums: slices.Clone(b.sums.rows),
		main: -1, yield: b.yield,
	}
	if b.meta.Main != nil {
		v.main = int(b.tables.module(b.meta.Main))
	}
	if v.end.IsZero() {
		v.end = time.Now()
	}
	return v
}

// Write writes a compressed profile of the intervals so far; more may be added meanwhile. A nil r names nothing.
func (b *Builder) Write(w io.Writer, r Resolver) error {
	return b.writeView(w, b.freeze(), r)
}

func (b *Builder) writeView(w io.Writer, v *frozenTables, r Resolver) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	zip, err := gzip.NewWriterLevel(buf, gzip.BestSpeed)
	if err != nil {
		return err
	}
	final, err := v.encode(zip, r)
	if err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	b.keepFinal(final)
	if err := zip.Close(); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	return nil
}

// Value types, in the order of a sample's values.
const (
	// TypeSamples counts ticks.
	TypeSamples = "samples"
	// TypeWall is wall time, ns.
	TypeWall = "wall"
	// TypeRunQueue is time in the run queue, ns.
	TypeRunQueue = "runqueue"
	// TypeCPU is time on a CPU, ns.
	TypeCPU = "cpu"
)

const nanoseconds = "nanoseconds"

var valueTypes = [][2]string{
	{TypeSamples, "count"}, {TypeWall, nanoseconds}, {TypeRunQueue, nanoseconds}, {TypeCPU, nanoseconds},
}
