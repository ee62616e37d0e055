package report

import (
	"cmp"
	"slices"
)

// node is one call path from the outermost frame.
type node struct {
	frame       int32
	parent      int32
	self, total int64
	children    []int32
}

// edge finds a node's child.
type edge struct{ parent, frame int32 }

// trie is the call tree of the chosen values; node 0 is its root.
type trie struct {
	nodes []node
	index map[edge]int32
}

func newTrie() *trie { return &trie{nodes: []node{{frame: -1, parent: -1}}, index: map[edge]int32{}} }

func (d *data) trie() *trie {
	t := newTrie()
	for _, s := range d.prof.Sample {
		v := s.Value[d.value]
		if v == 0 {
			continue
		}
		at := int32(0)
		t.nodes[0].total += v
		for _, f := range slices.Backward(d.stack(s)) {
			at = t.child(at, f)
			t.nodes[at].total += v
		}
		t.nodes[at].self += v
	}
	return t
}

// child gives the child for a frame, made if need be.
func (t *trie) child(parent, frame int32) int32 {
	e := edge{parent, frame}
	n, ok := t.index[e]
	if !ok {
		n = int32(len(t.nodes))
		t.nodes = append(t.nodes, node{frame: frame, parent: parent})
		t.nodes[parent].children = append(t.nodes[parent].children, n)
		t.index[e] = n
	}
	return n
}

// sortChildren puts the most expensive children first.
func (t *trie) sortChildren(d *data) {
	for i := range t.nodes {
		slices.SortFunc(t.nodes[i].children, func(a, b int32) int {
			x, y := &t.nodes[a], &t.nodes[b]
			return cmp.Or(cmp.Compare(y.total, x.total), cmp.Compare(d.frames[x.frame].label(), d.frames[y.frame].label()),
				cmp.Compare(d.frames[x.frame].module, d.frames[y.frame].module))
		})
	}
}
