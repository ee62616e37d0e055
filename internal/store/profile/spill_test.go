// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func addLong(b *Builder, n int) {
	stack := b.Intern([]Loc{{Module: testMain, Addr: 0x401000}})
	for i := range n {
		b.Add(Interval{Stack: stack, PID: 1, TID: 1 + i%3, State: "running", End: 1_700_000_000e9 + int64(i)*3_333_333,
			Samples: 1,
			Wall:    10e6 + int64(i%1000)*997, CPU: 9e6 + int64(i%777)*991})
	}
}

func memory(b *Builder) int {
	n := len(b.sums.rows) * 64
	for _, c := range b.journal.chunks {
		n += len(c.bytes)
	}
	for _, s := range b.tables.stacks {
		n += len(s) + 64
	}
	return n + len(b.tables.locs)*64 + b.Sizes().Labels*320
}

func TestMemoryIsFlatOverALongRecording(t *testing.T) {
	const hour = 3 * 360_000
	dir := t.TempDir()
	meta := Meta{Start: time.Unix(1_700_000_000, 0), Period: time.Second / 100}
	kept := NewBuilder(meta)
	meta.SpillTo = dir
	b := NewBuilder(meta)
	addLong(b, hour/3)
	early := memory(b)
	view := b.freeze()
	addLong(b, hour-hour/3)
	if late := memory(b); late > early+early/10 || late > 5<<20 {
		t.Errorf("%d bytes after 20 minutes, %d after an hour", early, late)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
	addLong(kept, hour/3)
	addLong(kept, hour-hour/3)
	var got, want bytes.Buffer
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_003_600, 0))
	kept.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_003_600, 0))
	for b, to := range map[*Builder]*bytes.Buffer{b: &got, kept: &want} {
		if err := b.Write(to, names); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes, not the %d of a recording that stayed in memory", got.Len(), want.Len())
	}
	n := 0
	if err := eachRecord(view.chunks, func(*record) error { n++; return nil }); err != nil || n < hour/3 {
		t.Errorf("%d of %d in the early view: %v", n, hour/3, err)
	}
}

func TestWhatCannotBeSpilledStaysInMemory(t *testing.T) {
	var failures []error
	failed := func(err error) { failures = append(failures, err) }
	b := NewBuilder(Meta{SpillTo: filepath.Join(t.TempDir(), "none"), SpillFailed: failed})
	addLong(b, 300_000)
	if b.journal.spilled != 0 || b.journal.spill.enabled() {
		t.Error("spilled to a directory that is not there")
	}
	if len(failures) != 1 || !errors.Is(failures[0], fs.ErrNotExist) {
		t.Errorf("reported: %v", failures)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	failures = nil
	c := NewBuilder(Meta{SpillTo: "/nowhere", SpillFailed: failed})
	c.journal.spill.file = full
	addLong(c, 300_000)
	n := 0
	err = eachRecord(c.journal.chunks, func(*record) error { n++; return nil })
	if c.journal.spilled != 0 || n != 300_000 || err != nil {
		t.Errorf("%d chunks spilled to a full disk; %d intervals are left, %v", c.journal.spilled, n, err)
	}
	if len(failures) != 1 || failures[0].Error() !=
		"cannot write a temporary file in /nowhere: no space left on device" {
		t.Errorf("reported: %v", failures)
	}
}

func TestAWriteLeavesOutWhatCannotBeReadBack(t *testing.T) {
	b := NewBuilder(Meta{Start: time.Unix(1_700_000_000, 0), Period: time.Second / 100, SpillTo: t.TempDir()})
	const all = 5 * maxRecords
	addLong(b, all)
	readable, half := all, int64(0)
	for i := range b.journal.chunks[:4] {
		c := &b.journal.chunks[i]
		b.journal.spill.write(c)
		if i == 1 {
			half = b.journal.spill.size
		} else if i > 1 {
			readable -= c.records
		}
	}
	checkReadBack(t, b, all)
	if err := b.journal.spill.file.Truncate(half); err != nil || readable == all {
		t.Fatalf("%d of %d intervals are readable: %v", readable, all, err)
	}
	checkReadBack(t, b, readable, fmt.Sprintf("intervals that could not be read from a temporary file: %d (EOF)",
		all-readable))
}

func checkReadBack(t *testing.T, b *Builder, intervals int, comments ...string) {
	t.Helper()
	p := roundTrip(t, b)
	if len(p.Sample) != intervals || !slices.Equal(p.Comments, comments) || (b.Lost() != nil) != (comments != nil) {
		t.Errorf("%d samples, want %d; comments %q, want %q; lost: %v", len(p.Sample), intervals, p.Comments, comments,
			b.Lost())
	}
}
