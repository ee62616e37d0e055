// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"slices"

	"prywalk/internal/sample"
)

// CLOCK_MONOTONIC ns; length was not observed
type gap struct{ from, to, length int64 }

const maxGaps = 1024

// Gaps are the times without samples, ascending.
type Gaps []gap

// Add appends a gap; at maxGaps it merges older neighbours.
func (g *Gaps) Add(from, length int64) {
	if len(*g) >= maxGaps {
		g.merge(len(*g) / 4)
	}
	*g = append(*g, gap{from, from + length, length})
}

func (g *Gaps) merge(n int) {
	list := *g
	for i := range n {
		a, b := list[2*i], list[2*i+1]
		list[i] = gap{a.from, b.to, a.length + b.length}
	}
	*g = slices.Delete(list, n, 2*n)
}

// Within returns the unobserved part of an interval, ns.
func (g *Gaps) Within(from, to int64) (length int64) {
	if g == nil {
		return 0
	}
	list := *g
	for i := len(list) - 1; i >= 0 && list[i].to > from; i-- {
		e := &list[i]
		if part := min(e.to, to) - max(e.from, from); part > 0 {
			length += sample.Portion(e.length, part, e.to-e.from)
		}
	}
	return length
}
