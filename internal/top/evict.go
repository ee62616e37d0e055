// SPDX-License-Identifier: Apache-2.0

package top

import (
	"prywalk/internal/sample"
)

const (
	// With more cells, and twice those kept by the last eviction, a Store evicts.
	maxCells = 1 << 16
	// evictedName is the thread and function of merged cells.
	evictedName  = "[earlier]"
	evictedStack = sample.StackID(^uint32(0))
)

// evict halves the cells in no slice, as threads and stacks may come without end: it merges them first without thread,
// then without stack. Sums stay exact.
func (s *Store) evict() {
	used := make([]bool, len(s.cells))
	for i := range s.timeSlices {
		for _, d := range s.timeSlices[i].deltas {
			used[d.cell] = true
		}
	}
	for _, d := range s.open {
		used[d.cell] = true
	}
	s.copySharedThreads()
	cells, threads := s.cells, s.threads
	s.cells, s.threads, s.lastCells = nil, nil, nil
	s.index, s.byThread = map[cellKey]int32{}, map[threadKey]int32{}
	moved := make([]int32, len(cells))
	for n, ok := range used {
		if ok {
			moved[n] = s.addEvicted(cells[n], threads)
		}
	}
	room := len(s.cells) + s.maxCells/2
	for n := len(used) - 1; n >= 0; n-- {
		if used[n] {
			continue
		}
		c := cells[n]
		th := &threads[c.key.thread]
		if th.tid != 0 || th.task != "" {
			th.id, th.tid, th.name, th.task = s.newThreadID(), 0, evictedName, ""
		}
		if len(s.cells) >= room {
			c.key.stack = evictedStack
		}
		s.addEvicted(c, threads)
	}
	for i := range s.timeSlices {
		for j := range s.timeSlices[i].deltas {
			d := &s.timeSlices[i].deltas[j]
			d.cell = moved[d.cell]
		}
	}
	for i := range s.open {
		s.open[i].cell = moved[s.open[i].cell]
	}
}

func (s *Store) addEvicted(c storedCell, threads []thread) int32 {
	th := threads[c.key.thread]
	n, ok := s.byThread[th.key()]
	if !ok {
		n = s.addThread(th)
	}
	c.key.thread = n
	i := s.cellIndex(c.key)
	s.cells[i].all.add(c.all)
	return i
}
