// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
)

// Node is a call path from the outermost frame.
type Node struct {
	Frame       int32
	Parent      int32
	Self, Total int64
	Children    []int32
}

// Edge is a node and the frame of a child.
type Edge struct{ Parent, Frame int32 }

// CallTree is the call tree of the chosen values; node 0 is the root.
type CallTree struct {
	Nodes []Node
	index map[Edge]int32
	data  *Data
}

// NewCallTree returns an empty call tree.
func (d *Data) NewCallTree() *CallTree {
	return &CallTree{Nodes: []Node{{Frame: -1, Parent: -1}}, index: map[Edge]int32{}, data: d}
}

// CallTree returns the call tree of the samples.
func (d *Data) CallTree() *CallTree {
	t := d.NewCallTree()
	for _, s := range d.Profile.Sample {
		v := s.Value[d.ValueIndex]
		if v == 0 {
			continue
		}
		node := int32(0)
		t.Nodes[0].Total += v
		for _, f := range slices.Backward(d.Table.Stack(s)) {
			node = t.Child(node, f)
			t.Nodes[node].Total += v
		}
		t.Nodes[node].Self += v
	}
	return t
}

// Child returns a frame's child, perhaps new; once memory is refused, the parent.
func (t *CallTree) Child(parent, frame int32) int32 {
	e := Edge{parent, frame}
	n, ok := t.index[e]
	if !ok && !t.data.Memory.Take(NodeCost) {
		return parent
	}
	if !ok {
		n = int32(len(t.Nodes))
		t.Nodes = append(t.Nodes, Node{Frame: frame, Parent: parent})
		t.Nodes[parent].Children = append(t.Nodes[parent].Children, n)
		t.index[e] = n
	}
	return n
}

// Find returns a frame's child, if it has one.
func (t *CallTree) Find(parent, frame int32) (int32, bool) {
	n, ok := t.index[Edge{parent, frame}]
	return n, ok
}

// SortChildren sorts children by total value, largest first.
func (t *CallTree) SortChildren() {
	frames := t.data.Table.Frames
	for i := range t.Nodes {
		slices.SortFunc(t.Nodes[i].Children, func(a, b int32) int {
			x, y := &t.Nodes[a], &t.Nodes[b]
			return cmp.Or(cmp.Compare(y.Total, x.Total), frames[x.Frame].compare(&frames[y.Frame]))
		})
	}
}

func (f *Frame) compare(g *Frame) int {
	return cmp.Or(cmp.Compare(f.Name, g.Name), cmp.Compare(f.File, g.File), cmp.Compare(f.Line, g.Line),
		cmp.Compare(f.Module, g.Module))
}
