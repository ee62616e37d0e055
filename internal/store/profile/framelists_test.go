// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"testing"
)

func TestFunctionsHaveTheTypesOfTheirFrames(t *testing.T) {
	for _, tt := range []struct{ name, system, want string }{
		{"fib", "fib [c2]", "c2"},
		{"fib", SystemNameOfType("fib", "interpreted"), "interpreted"},
		{"fib", SystemNameOfType("fib", ""), ""},
		{"run", "_Z3runv [machinery]", Machinery},
		{"main.Map[go.shape.int]", "main.Map[go.shape.int]", ""},
		{"a [b]", "a [b]", ""},
		{"operator", "operator []", ""},
		{"fib", "fib", ""},
		{"", "", ""},
	} {
		if got := FrameType(tt.name, tt.system); got != tt.want {
			t.Errorf("%q of %q has the type %q, want %q", tt.system, tt.name, got, tt.want)
		}
	}
}

func TestDescribedLocationsNeedNoResolver(t *testing.T) {
	b := NewBuilder(Meta{})
	described := []Frame{{Name: "in", System: SystemNameOfType("in", "c2"), File: "a.toy", Line: 3, Inlined: true},
		{Name: "out", Line: 7, StartLine: 5}}
	id := b.InternFrames(described)
	if again := b.InternFrames(described); again != id {
		t.Errorf("equal lists are %d and %d", id, again)
	}
	described[0].Name = "changed"
	vm := &ModuleInfo{Path: "[Toy 1.0]"}
	file := &ModuleInfo{Start: 0x1000, End: 0x2000, Path: "/usr/bin/toy"}
	stack := b.Intern([]Loc{
		{Module: vm, FramesID: id},
		{Module: file, Addr: 0x1010, Machinery: true},
		{Module: file, Addr: 0x1010},
	})
	if locs, _ := b.Stack(stack, nil); len(locs) != 3 || len(locs[0].Frames) != 2 || locs[0].Frames[0].Name != "in" ||
		locs[1].Frames != nil {
		t.Errorf("the stack is %+v", locs)
	}
	b.Add(Interval{Stack: stack, PID: 1, Samples: 1})
	var w bytes.Buffer
	if err := b.Write(&w, nil); err != nil {
		t.Fatal(err)
	}
	p, err := Read(&w)
	if err != nil {
		t.Fatal(err)
	}
	locs := p.Sample[0].Location
	if len(locs) != 3 || len(locs[0].Line) != 2 || locs[0].Mapping.File != "[Toy 1.0]" ||
		!locs[0].Mapping.HasInlineFrames {
		t.Fatalf("%v", p)
	}
	in, out := locs[0].Line[0], locs[0].Line[1]
	if in.Function.Name != "in" || in.Line != 3 || FrameType(in.Function.Name, in.Function.SystemName) != "c2" ||
		in.Function.Filename != "a.toy" || out.Function.StartLine != 5 || out.Line != 7 {
		t.Errorf("%+v %+v", in.Function, out.Function)
	}
	if f := locs[1].Line[0].Function; f.Name != "[toy]" || FrameType(f.Name, f.SystemName) != Machinery {
		t.Errorf("machinery without a name: %+v", f)
	}
	if len(locs[2].Line) != 0 {
		t.Errorf("no name is known: %+v", locs[2].Line)
	}
}
