// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	rec "prywalk/internal/store/profile"
)

// lines is the tree in the order of its children: depth, name, self and total value.
func (t *CallTree) lines() (out []string) {
	var walk func(node int32, depth int)
	walk = func(node int32, depth int) {
		n := &t.Nodes[node]
		name := "root"
		if n.Frame >= 0 {
			name = t.data.Table.Frames[n.Frame].Name
		}
		out = append(out, fmt.Sprintf("%s%s %d %d", strings.Repeat(" ", depth), name, n.Self, n.Total))
		for _, child := range n.Children {
			walk(child, depth+1)
		}
	}
	walk(0, 0)
	return out
}

func TestCallTreeAddsUpPathsFromTheOutermostFrame(t *testing.T) {
	r := recursive()
	slices.Reverse(r.Sample) // the largest comes last
	d := r.data(t, Options{Value: rec.TypeCPU})
	tree := d.CallTree()
	before := []string{"root 0 100", " serve 0 100", "  other 30 30", "  work 10 70", "   work 60 60"}
	if got := tree.lines(); !reflect.DeepEqual(got, before) {
		t.Errorf("%q, want %q", got, before)
	}
	tree.SortChildren()
	after := []string{"root 0 100", " serve 0 100", "  work 10 70", "   work 60 60", "  other 30 30"}
	if got := tree.lines(); !reflect.DeepEqual(got, after) {
		t.Errorf("sorted: %q, want %q", got, after)
	}
	serve := tree.Nodes[0].Children[0]
	if n, ok := tree.Find(0, tree.Nodes[serve].Frame); n != serve || !ok {
		t.Errorf("Find: %d, %t; want %d", n, ok, serve)
	}
	if n, ok := tree.Find(serve, tree.Nodes[serve].Frame); ok {
		t.Errorf("Find of no child: %d", n)
	}
}

func TestChildrenOfEqualValueAreInTheOrderOfNames(t *testing.T) {
	d := &Data{Table: NewFrameTable(), Memory: &Memory{}}
	tree := d.NewCallTree()
	var want []string
	for _, f := range []Frame{{Name: "a", File: "a.py", Line: 2, Module: "m"}, {Name: "a", File: "a.py", Line: 2,
		Module: "n"},
		{Name: "a", File: "a.py", Line: 3, Module: "m"}, {Name: "a", File: "b.py", Line: 1, Module: "m"}, {Name: "b"}} {
		want = append(want, fmt.Sprint(f))
	}
	for _, f := range []Frame{{Name: "b"}, {Name: "a", File: "b.py", Line: 1, Module: "m"},
		{Name: "a", File: "a.py", Line: 3, Module: "m"}, {Name: "a", File: "a.py", Line: 2, Module: "n"},
		{Name: "a", File: "a.py", Line: 2, Module: "m"}} {
		tree.Child(0, d.Table.FrameIndex(f))
	}
	tree.SortChildren()
	var got []string
	for _, n := range tree.Nodes[0].Children {
		got = append(got, fmt.Sprint(d.Table.Frames[tree.Nodes[n].Frame]))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
