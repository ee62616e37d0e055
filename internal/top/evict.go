// SPDX-License-Identifier: Apache-2.0

package top

import (
	"prywalk/internal/sample"
)

// # Days
//
// A program that runs for days makes new threads and new stacks all the time. What no window but the whole has is then
// added up: first without the thread, and where that is not enough without the stack. Sums stay true.

const (
	// mostCells bounds the cells, but for those that slices have.
	mostCells = 1 << 16
	// earlier names the thread, and the function, of what was added up so.
	earlier = "[earlier]"
	// earlierStack stands for a stack that is not kept.
	earlierStack = sample.StackID(^uint32(0))
)

// evict halves the number of cells that no slice has, at least.
func (s *Store) evict() {
	used := make([]bool, len(s.cells))
	for i := range s.slices {
		for _, d := range s.slices[i].deltas {
			used[d.cell] = true
		}
	}
	for _, d := range s.open {
		used[d.cell] = true
	}
	s.ownThreads()
	cells, threads := s.cells, s.threads
	s.cells, s.threads, s.lasts = nil, nil, nil
	s.index, s.byTID = map[cellKey]int32{}, map[threadKey]int32{}
	moved := make([]int32, len(cells))
	for n, ok := range used {
		if ok {
			moved[n] = s.take(cells[n], threads)
		}
	}
	room := len(s.cells) + s.most/2
	for n := len(used) - 1; n >= 0; n-- { // the youngest keep their stacks
		if used[n] {
			continue
		}
		c := cells[n]
		th := &threads[c.key.thread] // those that slices have were taken already
		th.tid, th.name = 0, earlier
		if len(s.cells) >= room {
			c.key.stack = earlierStack
		}
		s.take(c, threads)
	}
	for i := range s.slices {
		for j := range s.slices[i].deltas {
			d := &s.slices[i].deltas[j]
			d.cell = moved[d.cell]
		}
	}
	for i := range s.open {
		s.open[i].cell = moved[s.open[i].cell]
	}
}

// take adds a cell from before.
func (s *Store) take(c cell, threads []thread) int32 {
	th := threads[c.key.thread]
	key := threadKey{th.pid, th.tid}
	n, ok := s.byTID[key]
	if !ok {
		n = int32(len(s.threads))
		s.threads = append(s.threads, th)
		s.lasts = append(s.lasts, lastCell{})
		s.byTID[key] = n
	}
	c.key.thread = n
	i := s.cell(c.key)
	s.cells[i].all.add(c.all)
	return i
}
