// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

// prune lists the nodes to draw, parents first, and returns the drawn node of each.
func (b *pageBuilder) prune() []int32 {
	all := len(b.tree.Nodes) <= maxPageNodes
	calls := view.Frame{Name: fmt.Sprintf("[calls under %g%%]", 100*minPageShare)}
	small := b.data.Table.FrameIndex(calls)
	if b.lines != nil {
		n := b.lines.FrameIndex(calls)
		b.functionOf[n], small = small, n
	}
	to := make([]int32, len(b.tree.Nodes))
	smallOf := map[int32]int32{}
	isSmall := map[int32]bool{}
	merged := int64(0)
	for i := 1; i < len(to); i++ {
		n := &b.tree.Nodes[i]
		parent := to[n.Parent]
		if all || b.isLarge(i) {
			to[i] = b.addNode(parent, n.Frame)
			continue
		}
		merged++
		if isSmall[parent] {
			to[i] = parent
			continue
		}
		s, ok := smallOf[parent]
		if !ok {
			s = b.addNode(parent, small)
			smallOf[parent], isSmall[s] = s, true
		}
		to[i] = s
	}
	if merged > 0 {
		b.page.Note =
			fmt.Sprintf("%s below %g%% of the total are merged into one box, with only their innermost functions below "+
				"it: self values are exact, totals exclude these calls", tabular.Plural(merged, "call path"), 100*minPageShare)
	}
	b.leaves(to, isSmall)
	return to
}

func (b *pageBuilder) leaves(to []int32, isSmall map[int32]bool) {
	leaf := map[view.Edge]int32{}
	for i := range b.rows {
		old := b.rows[i].node
		if !isSmall[to[old]] {
			continue
		}
		e := view.Edge{Parent: to[old], Frame: b.tree.Nodes[old].Frame}
		n, ok := leaf[e]
		if !ok {
			n = b.addNode(e.Parent, e.Frame)
			leaf[e] = n
		}
		to[old] = n
	}
}

func (b *pageBuilder) addNode(parent, frame int32) int32 {
	b.page.Nodes = append(b.page.Nodes, parent, frame)
	return int32(len(b.page.Nodes) / 2)
}

func (b *pageBuilder) isLarge(n int) bool {
	types := len(b.data.Profile.SampleType)
	for i := range types {
		if all := b.magnitudes[i]; all > 0 && float64(b.magnitudes[n*types+i]) >= minPageShare*float64(all) {
			return true
		}
	}
	return false
}

// writeRows returns the number of each row in the page's list.
func (b *pageBuilder) writeRows(to []int32) []int32 {
	stride := 2 + len(b.data.Profile.SampleType)
	at := map[[2]int32]int32{}
	numbers := make([]int32, len(b.rows))
	for i := range b.rows {
		row := &b.rows[i]
		k := [2]int32{to[row.node], row.context}
		n, ok := at[k]
		if !ok {
			n = int32(len(at))
			at[k] = n
			b.page.Rows = append(b.page.Rows, int64(k[0]), int64(k[1]))
			b.page.Rows = append(b.page.Rows, make([]int64, stride-2)...)
		}
		view.Add(b.page.Rows[int(n)*stride+2:], row.values)
		numbers[i] = n
	}
	return numbers
}

func (b *pageBuilder) writeFrames() {
	places := b.data.Places()
	for i, f := range b.data.Table.Frames {
		if b.data.Memory.Err() != nil {
			return
		}
		flags := 0
		for bit, is := range []bool{f.Synthetic(), f.IsSupport(), f.IsOwn(), f.IsBuiltIn()} {
			if is {
				flags |= 1 << bit
			}
		}
		p := places[int32(i)]
		b.page.Frames = append(b.page.Frames, b.stringIndex(f.DisplayName()), b.stringIndex(f.Module), b.stringIndex(p.File),
			p.Line, flags)
	}
}
