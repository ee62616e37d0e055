// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"prywalk/internal/base/sample"
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
	locs, _ := b.Stack(id, nil)
	for _, at := range locs {
		text += fmt.Sprint(at.Module, at.Addr, at.Synthetic, at.Machinery, at.Frames, ";")
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
	b.Evict(slices.Values([]sample.StackID{second}))
	if name(first) != "" || name(second) != "f2" || name(stack(3)) != "f3" {
		t.Errorf("%q, %q, %q", name(first), name(second), name(stack(3)))
	}
}

// top names stacks on other goroutines than the one that evicts.
func TestNamesAreOfTheirLocationsWhileOthersAreEvicted(t *testing.T) {
	m := &ModuleInfo{Start: 1 << 20, End: 1 << 21, Path: "/bin/a", File: 1}
	b := NewBuilder(Meta{Discard: true})
	n := NewNames(b, nil)
	const kept = 100
	var ids []sample.StackID
	for i := range 2 * kept {
		described := b.InternFrames([]Frame{{Name: fmt.Sprint("managed", i)}})
		id := b.Intern([]Loc{{Module: m, Addr: m.Start + uint64(i)}, {Module: m, FramesID: described}})
		if i >= kept {
			ids = append(ids, id)
		}
	}
	quit, evicted := make(chan struct{}), make(chan struct{})
	go n.Run(byAddress{}, quit)
	defer close(quit)
	go func() {
		defer close(evicted)
		for round := range 200 {
			evictedStacks(b, m, 10*round)
			b.Evict(slices.Values(ids))
		}
	}()
	for named := 0; named < kept; {
		select {
		case <-evicted:
		default:
			named = 0
		}
		for i, id := range ids {
			locs := n.Stack(id, nil, nil)
			if len(locs) != 2 || locs[1].Frames[0].Name != fmt.Sprint("managed", kept+i) ||
				locs[0].Final && locs[0].Frames[0].Name != fmt.Sprint("f", kept+i) {
				t.Fatalf("stack %d is %+v", i, locs)
			}
			if locs[0].Final {
				named++
			}
		}
	}
}

func TestGeneratedCodeIsNamedByItsLocationDuringAnEviction(t *testing.T) {
	m := &ModuleInfo{Start: 1 << 20, End: 1 << 21, Path: "[anon]"}
	b := NewBuilder(Meta{Discard: true})
	n := NewNames(b, nil)
	const all = 10
	var ids []sample.StackID
	for i := range all {
		ids = append(ids, b.Intern([]Loc{{Module: m, Addr: m.Start + uint64(i)}}))
	}
	for _, id := range ids {
		n.Stack(id, nameless{}, nil)
	}
	kept := ids[all/2:]
	n.NameSomeGenerated(during(sync.OnceFunc(func() {
		b.Evict(slices.Values(kept))
		n.Stack(kept[0], nil, nil)
	})))
	n.NameSomeGenerated(byAddress{})
	for i, id := range kept {
		for _, l := range n.Stack(id, nil, nil) {
			if want := fmt.Sprint("f", all/2+i); l.Final && len(l.Frames) > 0 && l.Frames[0].Name != want {
				t.Errorf("location %d is named %s, want %s", l.ID, l.Frames[0].Name, want)
			}
		}
	}
}

type nameless struct{}

func (nameless) Resolve(*ModuleInfo, uint64) []Frame { return nil }

type during func()

func (d during) Resolve(m *ModuleInfo, addr uint64) []Frame {
	d()
	return byAddress{}.Resolve(m, addr)
}

type byAddress struct{}

func (byAddress) Resolve(_ *ModuleInfo, addr uint64) []Frame {
	return []Frame{{Name: fmt.Sprint("f", addr&0xff)}}
}

type evicting struct {
	byAddress
	b *Builder
}

func (e evicting) Resolve(m *ModuleInfo, addr uint64) []Frame {
	e.b.Evict(func(func(sample.StackID) bool) {})
	return e.byAddress.Resolve(m, addr)
}

func (e evicting) IsFinal(*ModuleInfo) bool { return true }

func TestFinalNamesAreThoseOfTheirLocations(t *testing.T) {
	m := &ModuleInfo{Start: 1 << 20, End: 1 << 21, Path: "/bin/a", File: 1}
	b := NewBuilder(Meta{Rotates: true})
	stack := func(i int) sample.StackID { return b.Intern([]Loc{{Module: m, Addr: m.Start + uint64(i)}}) }
	for i := range 10 {
		stack(i)
	}
	for i := range 20 {
		b.Add(Interval{Stack: stack(10 + i), PID: 7, TID: 7, CPU: 1, Wall: 1, Samples: 1})
	}
	if err := b.Write(io.Discard, evicting{b: b}); err != nil {
		t.Fatal(err)
	}
	for loc, id := range b.tables.finalNames {
		at := b.tables.locs[loc]
		if want := fmt.Sprint("f", at.addr-m.Start); id != 0 && b.tables.frameLists[id-1][0].Name != want {
			t.Errorf("location %d has the name %v, want %s", loc, b.tables.frameLists[id-1], want)
		}
	}
}
