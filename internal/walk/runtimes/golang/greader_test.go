// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
)

// Reads end at the first unmapped region.
type gatheringHost struct {
	memoryHost
	calls int
}

func (h *gatheringHost) ReadParts(parts []frames.Region) (n int) {
	h.calls++
	for _, p := range parts {
		if h.Read(p.Addr, p.Bytes) != len(p.Bytes) {
			break
		}
		n++
	}
	return n
}

func TestManyRecordsAreReadInFewCalls(t *testing.T) {
	const size, n = 480, 1000
	h := &gatheringHost{memoryHost: memoryHost{memory: make([]byte, n*size)}}
	var at []uint64
	for i := range uint64(n) {
		at = append(at, 0x1000+size*i)
		binary.LittleEndian.PutUint64(h.memory[size*i:], i+1)
	}
	// one unmapped, and one that ends beyond the memory
	at = append(at, 1<<40, at[n-1], at[n-1]+size-8)
	var got []uint64
	r := newGReader(h)
	r.each(at, func(i int, g []byte) {
		if i != len(got) {
			t.Fatalf("%d comes after %d", i, len(got)-1)
		}
		v := uint64(0)
		if g != nil {
			v = binary.LittleEndian.Uint64(g)
		}
		got = append(got, v)
	})
	var want []uint64
	for i := range uint64(n) {
		want = append(want, i+1)
	}
	want = append(want, 0, n, 0)
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d, the last %v", len(got), len(want), got[max(0, len(got)-5):])
	}
	if h.calls > 8 {
		t.Errorf("%d calls", h.calls)
	}
}
