// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"prywalk/internal/base/sample"
)

// addSeconds adds an interval of a second for each second, with a stack and a thread of its own.
func addSeconds(b *Builder, from, to int64) {
	for s := from; s < to; s++ {
		id := b.Intern([]Loc{{Synthetic: fmt.Sprint("[", s, "]")}})
		b.Add(Interval{Stack: id, PID: 1, TID: int(s), State: "running", End: s * 1e9, Samples: 100, Wall: 1e9, CPU: 6e8,
			RunQueue: 4e8})
	}
}

func TestARingHasTheLastTimeOnly(t *testing.T) {
	b := NewBuilder(Meta{Ring: 10 * time.Second, Rotates: true})
	addSeconds(b, 1000, 201000) // several chunks
	if n := len(b.journal.chunks); n > 2 {
		t.Errorf("%d chunks are kept", n)
	}
	if !b.NeedsEviction() {
		t.Error("its stacks are not evicted")
	}
	b.Evict(slices.Values([]sample.StackID(nil)))
	if n := b.Sizes().Stacks; n > 2*maxRecords {
		t.Errorf("%d stacks are kept", n)
	}
	for range 2 { // a write changes nothing
		path := filepath.Join(t.TempDir(), "ring")
		b.SetWindow(time.Unix(200989, 5e8), time.Unix(200999, 5e8))
		if err := b.WriteFile(path, nil); err != nil {
			t.Fatal(err)
		}
		p, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Sample) != 10 || p.TimeNanos != 200989_500000000 || p.DurationNanos != 10e9 {
			t.Fatalf("%d samples, from %d, for %d ns", len(p.Sample), p.TimeNanos, p.DurationNanos)
		}
		if first := p.Sample[0]; !slices.Equal(first.Value, []int64{50, 5e8, 2e8, 3e8}) ||
			first.Location[0].Line[0].Function.Name != "[200990]" {
			t.Errorf("the first interval has %v in %v, want its half", first.Value, first.Location[0].Line)
		}
	}
}

func TestARingThatIsTooLargeBeginsLater(t *testing.T) {
	b := NewBuilder(Meta{Ring: 1e6 * time.Second, Start: time.Unix(0, 0), SpillTo: t.TempDir()})
	id := b.Intern(nil)
	last := int64(0)
	for b.journal.ring.lost == 0 {
		last++
		b.Add(Interval{Stack: id, TID: 1, End: last * 1e6, Wall: 1 << 60, RunQueue: 1 << 60, CPU: 1 << 60, Samples: 1 << 60})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.journal.spill.file != nil {
		t.Error("it is written to a file, which grows for ever")
	}
	v, size := b.freeze(), 0
	for _, c := range v.chunks {
		size += len(c.bytes)
	}
	if v.meta.Start.UnixNano() != b.journal.ring.lost || size > maxRingBytes || size < maxRingBytes*9/10 {
		t.Errorf("it begins at %v and has %d bytes; what ended until %d is lost", v.meta.Start, size, b.journal.ring.lost)
	}
}
