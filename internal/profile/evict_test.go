// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"slices"
	"testing"

	"prywalk/internal/sample"
)

func evictedStacks(b *Builder, m *ModuleInfo, n int) (ids []sample.StackID) {
	for i := range n {
		described := b.InternFrames([]Frame{{Name: fmt.Sprint("managed", i), File: "a.py", Line: i}})
		ids = append(ids, b.Intern([]Loc{
			{Module: m, Addr: m.Start + uint64(i)}, {Module: m, Addr: m.Start + 5, FramesID: described},
			{Synthetic: fmt.Sprint("[", i, "]")}, {Module: m, Addr: m.Start + 1<<10},
		}))
	}
	return ids
}

func textOf(b *Builder, id sample.StackID) (text string) {
	for _, l := range b.Stack(id, nil) {
		at := b.LocOf(l)
		text += fmt.Sprint(at.Module, at.Addr, at.Synthetic, at.Machinery, b.FramesOf(at.FramesID), ";")
	}
	return text
}

func TestStacksThatAreKeptStayWhatTheyAreWhenOthersAreEvicted(t *testing.T) {
	m := &ModuleInfo{Start: 1 << 20, End: 1 << 21, Path: "/bin/a"}
	b := NewBuilder(Meta{Discard: true})
	ids := evictedStacks(b, m, 100)
	want := map[sample.StackID]string{}
	for _, id := range []sample.StackID{ids[3], ids[50], ids[99]} {
		want[id] = textOf(b, id)
	}
	keep := func(yield func(sample.StackID) bool) {
		for _, id := range []sample.StackID{ids[3], ids[50], ids[99], ids[3]} {
			if !yield(id) {
				return
			}
		}
	}
	for round := range 3 {
		b.Evict(keep)
		if n := b.Sizes(); n.Stacks != 3 || n.Locations != 3*3+1 || n.Modules != 1 {
			t.Errorf("round %d: %+v", round, n)
		}
		for id, text := range want {
			if got := textOf(b, id); got != text {
				t.Errorf("round %d: stack %d is\n%s, was\n%s", round, id, got, text)
			}
		}
		if text := textOf(b, ids[0]); text != "" {
			t.Errorf("round %d: an evicted stack is %q", round, text)
		}
		again := evictedStacks(b, m, 100)
		if again[50] != ids[50] || slices.Contains(ids, again[51]) {
			t.Errorf("round %d: stack 50 is number %d, was %d; stack 51 is %d", round, again[50], ids[50], again[51])
		}
		if text := textOf(b, b.InternLeaf(again[7], "[leaf]")); text == "" {
			t.Errorf("round %d: a stack with a leaf is empty", round)
		}
	}
	if b.Evictions() != 3 {
		t.Errorf("%d evictions", b.Evictions())
	}
}

func TestStacksThatWereUsedLatelyAreNotEvicted(t *testing.T) {
	b := NewBuilder(Meta{Discard: true})
	b.BeginEpoch()
	ids := evictedStacks(b, &ModuleInfo{Start: 1 << 20, End: 1 << 21}, 4)
	for age := range 3 {
		b.Evict(func(func(sample.StackID) bool) {})
		if there := textOf(b, ids[2]) != ""; there != (age < 2) {
			t.Errorf("after %d ages the stack is there: %v", age, there)
		}
		b.BeginEpoch()
	}
}

func TestNothingIsEvictedWhereIntervalsAreKept(t *testing.T) {
	b := NewBuilder(Meta{})
	ids := evictedStacks(b, &ModuleInfo{Start: 1 << 20, End: 1 << 21}, 4)
	b.Evict(func(func(sample.StackID) bool) {})
	if textOf(b, ids[2]) == "" || b.Evictions() != 0 {
		t.Error("a stack is gone")
	}
}

func TestNamesOfEvictedStacksAreForgotten(t *testing.T) {
	m := &ModuleInfo{Start: 1 << 20, End: 1 << 21, Path: "/bin/a", File: 1}
	b := NewBuilder(Meta{Discard: true})
	n := NewNames(b, func() {})
	stack := func(i uint64) sample.StackID { return b.Intern([]Loc{{Module: m, Addr: m.Start + i}}) }
	first, second := stack(1), stack(2)
	name := func(id sample.StackID) string {
		out := ""
		for _, l := range n.Stack(id, byAddress{}, nil) {
			out += l.Frames[0].Name
		}
		return out
	}
	if name(first) != "f1" || name(second) != "f2" {
		t.Fatalf("%q, %q", name(first), name(second))
	}
	b.Evict(slices.Values([]sample.StackID{second})) // its location has the number of the first's now
	if name(first) != "" || name(second) != "f2" || name(stack(3)) != "f3" {
		t.Errorf("%q, %q, %q", name(first), name(second), name(stack(3)))
	}
}

// byAddress names functions by their addresses.
type byAddress struct{}

func (byAddress) Resolve(_ *ModuleInfo, addr uint64) []Frame {
	return []Frame{{Name: fmt.Sprint("f", addr&0xff)}}
}
