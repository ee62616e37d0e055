// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"os"
	"path/filepath"
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
	n := (len(b.journal.chunks)-b.journal.spilled)*chunkSize + len(b.sums.rows)*64
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
	if late := memory(b); late > early || late > (maxChunksInMemory+1)*chunkSize+1<<10 {
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
	if err := eachRecord(view.chunks, nil, nil, func(*record) error { n++; return nil }); err != nil || n < hour/3 {
		t.Errorf("%d of %d in the early view: %v", n, hour/3, err)
	}
}

func TestWhatCannotBeSpilledStaysInMemory(t *testing.T) {
	b := NewBuilder(Meta{SpillTo: filepath.Join(t.TempDir(), "none")})
	addLong(b, 300_000)
	if b.journal.spilled != 0 || b.journal.spill.enabled() {
		t.Error("spilled to a directory that is not there")
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	c := NewBuilder(Meta{SpillTo: "/nowhere"})
	c.journal.spill.file = full
	addLong(c, 300_000)
	n := 0
	err = eachRecord(c.journal.chunks, nil, nil, func(*record) error { n++; return nil })
	if c.journal.spilled != 0 || n != 300_000 || err != nil {
		t.Errorf("%d chunks spilled to a full disk; %d intervals are left, %v", c.journal.spilled, n, err)
	}
}
