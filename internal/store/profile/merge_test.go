// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/base/sample"
)

func TestFileAtOtherAddressesIsTheSameModule(t *testing.T) {
	b := NewBuilder(Meta{Start: time.Now()})
	file, other := FileID(1), FileID(2)
	var stacks []sample.StackID
	for i := range uint64(1000) {
		at := 0x7000_0000_0000 + i<<20
		m := &ModuleInfo{Start: at, End: at + 0x5000, FileOffset: 0x1000, Bias: at - 0x1000, Path: "/lib/a", File: file}
		stacks = append(stacks, b.Intern([]Loc{{Module: m, Addr: at + 0x234}}))
	}
	for _, s := range stacks {
		if s != stacks[0] {
			t.Fatalf("stacks %v", stacks)
		}
	}
	if n := len(b.tables.modules) + len(b.tables.locs) + len(b.tables.stacks); n != 3 {
		t.Errorf("%d modules, locations and stacks", n)
	}
	at := uint64(0x6000_0000_0000)
	for _, m := range []*ModuleInfo{
		{Start: at, End: at + 0x5000, FileOffset: 0x1000, Bias: at - 0x1000, Path: "/lib/a", File: other},
		{Start: at, End: at + 0x5000, FileOffset: 0x2000, Bias: at - 0x1000, Path: "/lib/a", File: file},
		{Start: at, End: at + 0x6000, FileOffset: 0x1000, Bias: at - 0x1000, Path: "/lib/a", File: file},
		{Start: at, End: at + 0x5000, Path: "[anon]", Owner: 1},
		{Start: at + 0x5000, End: at + 0xa000, Path: "[anon]", Owner: 1},
		{Start: at, End: at + 0x5000, Path: "[anon]", Owner: 2},
	} {
		n := len(b.tables.locs)
		if b.Intern([]Loc{{Module: m, Addr: at + 0x234}}); len(b.tables.locs) != n+1 {
			t.Errorf("%+v is taken for another", m)
		}
	}
	b.Add(Interval{Stack: stacks[999], PID: 1, TID: 1, Comm: "a", State: "running", Samples: 1, Wall: 1, CPU: 1})
	var out bytes.Buffer
	if err := b.Write(&out, nil); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Sample[0].Location[0]; l.Address != 0x7000_0000_0234 || l.Mapping.Start != 0x7000_0000_0000 {
		t.Errorf("at %#x in a mapping at %#x", l.Address, l.Mapping.Start)
	}
}

func TestCodeThatGrowsIsOneModule(t *testing.T) {
	b := NewBuilder(Meta{Start: time.Now()})
	var stack sample.StackID
	for i := range uint64(1000) {
		m := &ModuleInfo{Start: 0x1000, End: 0x2000 + i<<12, Path: "[vm]", Owner: 1, Grows: true}
		stack = b.Intern([]Loc{{Module: m, Addr: 0x1234}})
	}
	small := &ModuleInfo{Start: 0x1000, End: 0x2000, Path: "[vm]", Owner: 1, Grows: true}
	if got := b.Intern([]Loc{{Module: small, Addr: 0x1234}}); got != stack {
		t.Errorf("stack %d, want %d", got, stack)
	}
	if n := b.Sizes(); n.Modules != 1 || n.Locations != 1 || n.Stacks != 1 {
		t.Errorf("%+v", n)
	}
	other := &ModuleInfo{Start: 0x1000, End: 0x2000, Path: "[vm]", Owner: 2, Grows: true}
	if b.Intern([]Loc{{Module: other, Addr: 0x1234}}) == stack {
		t.Error("another process's code is taken for it")
	}
	b.Add(Interval{Stack: stack, PID: 1, TID: 1, Samples: 1})
	if p := roundTrip(t, b); len(p.Mapping) != 1 || p.Mapping[0].Limit != 0x2000+999<<12 {
		t.Errorf("mappings %v", p.Mapping)
	}
}

func TestPlacesThatARuntimeTellsTheSameOfAreOne(t *testing.T) {
	b := NewBuilder(Meta{Start: time.Now()})
	vm := &ModuleInfo{Start: 0x1000, End: 0x9000, Path: "[vm]", Owner: 1, Grows: true}
	heap := &ModuleInfo{Start: 0x10000, End: 0x90000, Path: "[vm]", Owner: 1, Grows: true}
	fib, other := b.InternFrames([]Frame{{Name: "fib", Line: 3}}), b.InternFrames([]Frame{{Name: "fib", Line: 4}})
	at := func(m *ModuleInfo, addr uint64, id FramesID) sample.StackID {
		return b.Intern([]Loc{{Module: m, Addr: addr, FramesID: id}})
	}
	first := at(vm, 0x1500, fib)
	for i := range uint64(100) {
		if at(vm, 0x2000+i, fib) != first {
			t.Fatal("the same at another address is another stack")
		}
	}
	for i, id := range []sample.StackID{
		at(vm, 0x1500, other), at(heap, 0x10500, fib), at(vm, 0x1500, 0), at(vm, 0x1501, 0),
	} {
		if want := sample.StackID(i + 1); id != want {
			t.Errorf("stack %d, want %d", id, want)
		}
	}
	b.Add(Interval{Stack: first, PID: 1, TID: 1, Samples: 1})
	if l := roundTrip(t, b).Sample[0].Location[0]; l.Address != 0x1500 {
		t.Errorf("at %#x", l.Address)
	}
}
