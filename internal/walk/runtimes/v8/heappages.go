// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"cmp"
	"encoding/binary"
	"slices"

	"prywalk/internal/base/cache"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// # Pages of the heap
//
// Pages begin at multiples of 256 KiB with a header (src/heap/memory-chunk.h, before 13 basic-memory-chunk.h), which
// has the page's own address:
//
//	up to V8 12.3  size, flags, heap, first object, end, …, space (word 8), …, own address (10)
//	V8 12.4 to 12  flags, own address, size, heap, first object, end, …, space (9)
//	from V8 13 on  flags, address of: …, own address (1), size, …, end (7), heap, first object, space (10)
//
// Objects that died stay in memory. They are not in use in pages of new objects from the allocation's top on, up to
// the end of the list of such pages, and between top and limit in the page where old objects are allocated
// (LinearAllocationArea: start, top, limit; in or near the isolate, before the heap).

const (
	pageSize     = 256 << 10
	pageHeader   = 16 << 10 // most bytes before the first object
	headerWords  = 64
	fromPage     = 1 << 3 // left by the last collection of new objects
	toPage       = 1 << 4 // of new objects
	maxHeapPages = 1 << 18
	maxSearched  = 1 << 12 // steps
	isolateSize  = 128 << 10
	searchStep   = 4 << 10
)

// heapPage is a page, or a part of one.
type heapPage struct {
	objects     managed.Span // of objects
	id          uint64       // address of the header that has the rest
	flags       uint64
	heap, space uint64
	header      [8 * headerWords]byte // or what it leads to
}

func (p *heapPage) word(i int) uint64 { return binary.LittleEndian.Uint64(p.header[8*i:]) }

// pageAt returns the page at an address, or nil if there is none, or it is larger than others, for one object.
func (h *heap) pageAt(base uint64) *heapPage {
	p := &heapPage{id: base}
	if h.live.Read(base, p.header[:]) != len(p.header) {
		return nil
	}
	word := p.word
	p.flags = word(0)
	switch at := word(1); {
	case word(10) == base && word(0) <= pageSize && word(3) > base:
		p.flags, p.heap, p.objects, p.space = at, word(2), managed.Span{Start: word(3), End: word(4)}, word(8)
	case at == base:
		p.heap, p.objects, p.space = word(3), managed.Span{Start: word(4), End: word(5)}, word(9)
	case at&7 != 0 || h.live.Read(at, p.header[:]) != len(p.header) || word(1) != base:
		return nil
	default:
		p.id, p.heap, p.objects, p.space = at, word(8), managed.Span{Start: word(9), End: word(7)}, word(10)
	}
	if p.objects.Start <= base || p.objects.Start&7 != 0 || p.objects.Start-base > pageHeader ||
		p.objects.End <= p.objects.Start || p.objects.End-base > pageSize {
		return nil
	}
	return p
}

// heapPages returns the pages with objects in use. lost counts those of which that is not known. cut means that the
// search ended at a time, in nanoseconds of CLOCK_MONOTONIC, or at its limit. Precondition: the host is a
// [managed.AreaHost].
func (h *heap) heapPages(until int64) (used []*heapPage, lost int, cut bool) {
	at, byID := map[uint64]*heapPage{}, map[uint64]*heapPage{}
	h.host.(managed.AreaHost).AnonymousAreas(func(s managed.Span) {
		for base := (s.Start + pageSize - 1) &^ (pageSize - 1); base < s.End && !cut; base += pageSize {
			cut = len(at) >= maxHeapPages || procmem.Now() > until
			if p := h.pageAt(base); p != nil && p.flags&fromPage == 0 && p.objects.End <= s.End {
				at[base], byID[p.id] = p, p
			}
		}
	})
	young, known := map[*heapPage]bool{}, map[uint64]bool{}
	for p, free := range h.allocations(at) {
		if p.flags&toPage == 0 {
			rest := *p
			rest.objects.Start = free.End
			used = append(used, &rest)
		} else {
			before, linked := pagesBefore(p, byID)
			known[p.space] = known[p.space] || linked
			for _, q := range before {
				young[q] = true
			}
		}
		p.objects.End = free.Start
	}
	for _, p := range at {
		if p.flags&toPage == 0 || young[p] {
			used = append(used, p)
		} else if !known[p.space] {
			lost++
		}
	}
	slices.SortFunc(used, func(a, b *heapPage) int { return cmp.Compare(a.objects.Start, b.objects.Start) })
	return used, lost, cut
}

func inUse(pages []*heapPage, object uint64) bool {
	i, _ := slices.BinarySearchFunc(pages, object,
		func(p *heapPage, at uint64) int { return cmp.Compare(p.objects.End, at) })
	return i < len(pages) && pages[i].objects.Has(object)
}

// allocations returns the free areas from the allocation's top to its limit.
func (h *heap) allocations(at map[uint64]*heapPage) map[*heapPage]managed.Span {
	found, searched := map[*heapPage]managed.Span{}, map[uint64]bool{}
	search := func(from, to uint64) {
		b := make([]byte, searchStep+16)
		for ; !searched[from] && from < to && len(searched) < maxSearched; from += searchStep {
			searched[from] = true
			n := h.live.Read(from, b)
			for i := 0; i+24 <= n; i += 8 {
				start, top := binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+8:])
				limit, p := binary.LittleEndian.Uint64(b[i+16:]), at[start&^(pageSize-1)]
				if p != nil && (start|top|limit)&7 == 0 && p.objects.Start <= start && start <= top && top <= limit &&
					limit <= p.objects.End && start < limit {
					found[p] = managed.Span{Start: top, End: limit}
				}
			}
		}
	}
	for _, p := range at {
		if p.flags&toPage != 0 {
			search(p.heap-isolateSize, p.heap)
			search(p.space-searchStep, p.space+searchStep)
		}
	}
	return found
}

// pagesBefore returns a page and those before it in its list. Two adjacent words of a header lead to the next page and
// the previous one, which leads back: those by which most pages are reached. Unless linked, no words lead to a
// neighbour though the space has one: which pages are before is not known.
func pagesBefore(current *heapPage, byID map[uint64]*heapPage) (before []*heapPage, linked bool) {
	before, linked = []*heapPage{current}, true
	for _, p := range byID {
		linked = linked && (p == current || p.space != current.space || p.flags&toPage == 0)
	}
	for i := 1; i+1 < headerWords; i++ {
		list := []*heapPage{current}
		for p := current; p.word(i+1) != 0; {
			previous := byID[p.word(i+1)]
			if previous == nil || previous.word(i) != p.id || previous.space != p.space || len(list) > len(byID) {
				list = nil
				break
			}
			list, p = append(list, previous), previous
		}
		next := byID[current.word(i)]
		linked = linked || len(list) > 1 || list != nil && next != nil && next.word(i+1) == current.id &&
			next.space == current.space
		if len(list) > len(before) {
			before = list
		}
	}
	return before, linked
}

// heapScan finds pending promises. Free space is skipped, as it has remains of objects.
type heapScan struct {
	heap     *heap
	found    []uint64         // with reactions
	kinds    map[uint64]uint8 // of maps
	free     uint64           // map of free space in a page's heap, or 0
	empty    uint64           // the empty array there, which promises have as their elements, or 0
	deadline int64            // in nanoseconds of CLOCK_MONOTONIC
	size     int              // bytes read
	lost     int              // pages not read
	cut      bool
}

// Kinds of maps.
const (
	otherMap uint8 = iota + 1
	promiseMap
	freeMap
)

func (s *heapScan) kindOf(m uint64) uint8 {
	if k := s.kinds[m]; k != 0 {
		return k
	}
	k := otherMap
	switch s.heap.typeOf(m) {
	case s.heap.build.types.promise:
		k = promiseMap
	case s.heap.build.types.freeSpace:
		k, s.free = freeMap, m
	}
	cache.Put(&s.kinds, maxKinds, m, k)
	return k
}

// run searches all pages.
func (s *heapScan) run() {
	var pages []*heapPage
	pages, s.lost, s.cut = s.heap.heapPages(s.deadline)
	buffer, known := make([]byte, pageSize), map[uint64][2]uint64{} // by heap: each Worker has its own
	for _, p := range pages {
		if len(s.found) >= maxAwaits || procmem.Now() > s.deadline {
			s.cut = true
			return
		}
		b := buffer[:p.objects.End-p.objects.Start]
		if s.heap.live.Read(p.objects.Start, b) != len(b) {
			s.lost++
			continue
		}
		s.size += len(b)
		s.free, s.empty = known[p.heap][0], known[p.heap][1]
		s.page(b, p.objects.Start)
		known[p.heap] = [2]uint64{s.free, s.empty}
	}
}

const (
	promiseReactions = 24
	promiseFlags     = 32
	promiseStatus    = 3 // bits of the flags; 0 means pending
	maxPromiseFlags  = 1 << 24
	promiseSize      = 40
	minFreeSpace     = 24
	maxKinds         = 1 << 16
)

func (s *heapScan) page(b []byte, at uint64) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
	for i := 0; i+promiseSize <= len(b); i += 8 {
		w := word(i)
		if w&heapObjectTagMask != heapObjectTag {
			continue
		}
		if next := word(i + 8); next<<32 == 0 && (w == s.free || s.free == 0) {
			size := next >> 32
			if size >= minFreeSpace && size&7 == 0 && size <= uint64(len(b)-i) && s.kindOf(w) == freeMap {
				i += int(size) - 8
				continue
			}
		}
		flags, elements, reactions := word(i+promiseFlags), word(i+16), word(i+promiseReactions)
		if flags<<32 == 0 && flags>>32 < maxPromiseFlags && flags>>32&promiseStatus == 0 && isObject(reactions) &&
			(elements == s.empty || s.empty == 0 && elements != reactions) && s.kindOf(w) == promiseMap {
			s.found = append(s.found, at+uint64(i)+heapObjectTag)
			if a, is := s.heap.ofType(elements, s.heap.build.types.fixedArray); is && s.heap.field(a, 8) == 0 {
				s.empty = elements
			}
		}
	}
}
