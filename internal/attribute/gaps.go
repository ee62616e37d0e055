// SPDX-License-Identifier: Apache-2.0

package attribute

import "slices"

// gap is a stretch of CLOCK_MONOTONIC of which so much was not observed, in nanoseconds.
type gap struct{ from, to, length int64 }

// mostGaps bounds how many gaps are told apart.
const mostGaps = 1024

// Gaps are what was not observed, in the order of time.
type Gaps []gap

// Add appends a gap. Where there are too many, each two neighbours of the older half become one.
func (g *Gaps) Add(from, length int64) {
	if len(*g) >= mostGaps {
		g.merge(len(*g) / 4)
	}
	*g = append(*g, gap{from, from + length, length})
}

// merge makes one of each of the n oldest pairs.
func (g *Gaps) merge(n int) {
	list := *g
	for i := range n {
		a, b := list[2*i], list[2*i+1]
		list[i] = gap{a.from, b.to, a.length + b.length}
	}
	*g = slices.Delete(list, n, 2*n)
}

// Within gives how much of an interval was not observed.
func (g Gaps) Within(from, to int64) (length int64) {
	for i := len(g) - 1; i >= 0 && g[i].to > from; i-- {
		e := &g[i]
		if part := min(e.to, to) - max(e.from, from); part > 0 {
			length += portion(e.length, part, e.to-e.from)
		}
	}
	return length
}
