// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"slices"
	"testing"
)

// The word before those that lead to the next and the previous page is 0 in each page: with the next one it looks like
// another such pair, by which more pages are reached.
func TestPagesBeforeTheAllocationAreNotThoseAfterIt(t *testing.T) {
	const next, previous, pages = 20, 21, 5
	byID := map[uint64]*heapPage{}
	set := func(p *heapPage, word int, to uint64) { binary.LittleEndian.PutUint64(p.header[8*word:], to) }
	for id := uint64(1); id <= pages; id++ {
		byID[id] = &heapPage{id: id, space: 100, flags: toPage}
		set(byID[id], previous, id-1) // 0 means none
		set(byID[id], next, (id+1)%(pages+1))
	}
	for id := uint64(1); id <= pages; id++ {
		var got []uint64
		before, linked := pagesBefore(byID[id], byID)
		for _, p := range before {
			got = append(got, p.id)
		}
		slices.Sort(got)
		want := []uint64{1, 2, 3, 4, 5}[:id]
		if !slices.Equal(got, want) || !linked {
			t.Errorf("before page %d are %v, want %v; linked: %t", id, got, want, linked)
		}
	}
}

// A header whose links are at none of the words that are looked at.
func TestPagesWithoutLinksAreNotKnownUnlessThereIsOne(t *testing.T) {
	byID := map[uint64]*heapPage{
		1: {id: 1, space: 100, flags: toPage}, 2: {id: 2, space: 200, flags: toPage}, 3: {id: 3, space: 100}}
	if before, linked := pagesBefore(byID[1], byID); len(before) != 1 || !linked {
		t.Errorf("the only page of new objects: %d before, linked: %t", len(before), linked)
	}
	byID[3].flags = toPage
	if before, linked := pagesBefore(byID[1], byID); len(before) != 1 || linked {
		t.Errorf("one of two pages: %d before, linked: %t", len(before), linked)
	}
}
