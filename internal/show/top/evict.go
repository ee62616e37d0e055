// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"maps"
	"slices"

	"prywalk/internal/base/sample"
)

const (
	// maxCells is the number of cells above which a Store evicts, if it has twice those kept by the last eviction.
	maxCells = 1 << 16
	// evictedName is the thread and function of merged cells.
	evictedName  = "[earlier]"
	evictedStack = sample.StackID(^uint32(0))
)

// evict halves the cells in no slice, as threads and stacks may come without end: it merges them without thread, those
// with the least time also without stack. Sums stay exact.
func (s *Store) evict() {
	kept, rest := sums{}, []cellKey{}
	for k, v := range s.cells {
		if s.isRecent(k) {
			kept[k] = v
		} else {
			rest = append(rest, k)
		}
	}
	slices.SortFunc(rest, func(a, b cellKey) int {
		x, y := s.cells[a], s.cells[b]
		return cmp.Or(cmp.Compare(y.CPU, x.CPU), cmp.Compare(y.Wall, x.Wall), compareKeys(a, b))
	})
	room := len(kept) + s.maxCells/2
	for _, k := range rest {
		v := s.cells[k]
		if th := *k.thread; th.tid != 0 || th.task != "" {
			th.tid, th.name, th.task = 0, evictedName, ""
			k.thread = s.known(th)
		}
		if len(kept) >= room {
			k.stack = evictedStack
		}
		kept.add(k, v)
	}
	s.cells = kept
	needed := map[*thread]bool{}
	for k := range kept {
		needed[k.thread] = true
	}
	maps.DeleteFunc(s.threads, func(_ threadKey, th *thread) bool {
		clear(th.labels) // also of waits whose cells are merged
		return !needed[th]
	})
}

// isRecent reports whether a slice or an open interval has the cell.
func (s *Store) isRecent(k cellKey) bool {
	_, ok := s.open[k]
	return ok || slices.ContainsFunc(s.timeSlices, func(t timeSlice) bool {
		_, ok := t.deltas[k]
		return ok
	})
}

func compareKeys(a, b cellKey) int {
	return cmp.Or(cmp.Compare(a.thread.id, b.thread.id), cmp.Compare(a.wait, b.wait), cmp.Compare(a.stack, b.stack))
}
