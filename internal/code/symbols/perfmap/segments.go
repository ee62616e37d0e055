// SPDX-License-Identifier: Apache-2.0

package perfmap

import (
	"cmp"
	"container/heap"
	"slices"
)

// latestLines is a [heap.Interface] with the latest line first.
type latestLines []int32

func (l latestLines) Len() int           { return len(l) }
func (l latestLines) Less(i, j int) bool { return l[i] > l[j] }
func (l latestLines) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

// Push and Pop are of package heap.
func (l *latestLines) Push(x any) { *l = append(*l, x.(int32)) }

// Pop removes the last element, where [heap.Pop] has put the first.
func (l *latestLines) Pop() (x any) {
	last := len(*l) - 1
	x, *l = (*l)[last], (*l)[:last]
	return x
}

// index sweeps over the addresses; of the entries that have begun the latest line holds.
func (m *Map) index() {
	if m.indexed == len(m.entries) {
		return
	}
	m.indexed = len(m.entries)
	order := slices.Grow(m.order[:0], len(m.entries))[:len(m.entries)]
	m.order = order
	for i := range order {
		order[i] = segment{m.entries[i].start, int32(i)}
	}
	slices.SortFunc(order, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.entry, b.entry))
	})
	m.segments = slices.Grow(m.segments[:0], len(order)+len(order)/8)
	var open latestLines
	for _, b := range order {
		m.closeUpTo(&open, b.addr)
		heap.Push(&open, b.entry)
		m.emit(b.addr, open[0])
	}
	m.closeUpTo(&open, ^uint64(0))
}

func (m *Map) closeUpTo(open *latestLines, addr uint64) {
	for len(*open) > 0 {
		end := m.entries[(*open)[0]].end
		if end > addr {
			return
		}
		for len(*open) > 0 && m.entries[(*open)[0]].end <= end {
			heap.Pop(open)
		}
		below := int32(-1)
		if len(*open) > 0 {
			below = (*open)[0]
		}
		m.emit(end, below)
	}
}

func (m *Map) emit(addr uint64, entry int32) {
	switch n := len(m.segments); {
	case n > 0 && m.segments[n-1].addr == addr:
		m.segments[n-1].entry = entry
	case n > 0 && m.segments[n-1].entry == entry:
	default:
		m.segments = append(m.segments, segment{addr, entry})
	}
}
