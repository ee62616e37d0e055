// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"time"
)

// view is a consistent copy of a Builder's headers.
type view struct {
	meta     Meta
	end      time.Time
	comments []string
	modules  []*ModuleInfo
	names    []string
	locs     []location
	told     [][]Frame
	settled  []DescriptionID
	stacks   []string
	labels   []labelSet // of the sums
	eras     []era
	chunks   []chunk
	sums     []record
	main     int // index of the main binary's module, -1 if none
	between  func()
}

// view copies what is needed for a write. The chunks, locations and stacks that it
// shows are never written to again.
func (b *Builder) view() *view {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := &view{
		meta: b.meta, end: b.end, comments: b.comments,
		modules: slices.Clone(b.tables.modules), names: b.tables.names, locs: b.tables.locs, told: b.tables.told,
		settled: slices.Clone(b.tables.settled),
		stacks:  b.tables.stacks, labels: b.tables.labels, eras: slices.Clone(b.journal.eras.all),
		chunks: slices.Clone(b.journal.chunks), sums: slices.Clone(b.sums.rows),
		main: -1, between: b.between,
	}
	if b.meta.Main != nil {
		v.main = int(b.tables.module(b.meta.Main))
	}
	if v.end.IsZero() {
		v.end = time.Now()
	}
	return v
}

// Write writes the profile so far, compressed. It can be called any number of times
// while intervals are added: each time all of those are in it that were added
// before the call. r gives the names; nil gives none.
func (b *Builder) Write(w io.Writer, r Resolver) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	zip, err := gzip.NewWriterLevel(buf, gzip.BestSpeed)
	if err != nil {
		return err
	}
	final, err := b.view().encode(zip, r)
	if err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	b.settle(final)
	if err := zip.Close(); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	return nil
}

// Value types of a recording, in the order of a sample's values.
const (
	// TypeSamples counts the ticks at which a stack was seen.
	TypeSamples = "samples"
	// TypeWall is the time that passed, in nanoseconds.
	TypeWall = "wall"
	// TypeRunQueue is the time queued for a processor, in nanoseconds.
	TypeRunQueue = "runqueue"
	// TypeCPU is the time on a processor, in nanoseconds.
	TypeCPU = "cpu"
)

const nanoseconds = "nanoseconds"

// valueTypes are the types with their units.
var valueTypes = [][2]string{
	{TypeSamples, "count"}, {TypeWall, nanoseconds}, {TypeRunQueue, nanoseconds}, {TypeCPU, nanoseconds},
}
