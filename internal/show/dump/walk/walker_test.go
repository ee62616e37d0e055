// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/incomplete"
	"prywalk/internal/base/languages"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/filememory"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
)

type toy struct {
	managed.FrameSource
	functions []managed.Frame
	certainty managed.Certainty
}

func (t *toy) Name() string { return "CPython 3.12.1" }

func (t *toy) Symbolize(_ managed.Ref, _ managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	return append(out, t.functions...), t.certainty
}

func newWalker(t *testing.T, memory *filememory.Account) *Walker {
	t.Helper()
	names := symbols.NewNamer()
	t.Cleanup(func() { _ = names.Close() })
	return New(7, names, memory)
}

func functionsOf(list []stacks.Frame) (out []string) {
	for i := range list {
		out = append(out, list[i].Function)
	}
	return out
}

func TestEachManagedFrameHasAPlace(t *testing.T) {
	for name, c := range map[string]struct {
		source toy
		want   []string
	}{
		"inlined": {toy{functions: []managed.Frame{{Function: "in", Inlined: true}, {Function: "out"}}},
			[]string{"in", "out"}},
		"freed": {toy{functions: []managed.Frame{{Function: "old"}}, certainty: managed.Freed},
			[]string{languages.FreedFunction}},
		"no answer": {toy{}, []string{""}},
	} {
		list := newWalker(t, nil).appendManaged(nil, &callstack.Entry{Source: &c.source}, nil)
		if got := functionsOf(list); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for i := range list {
			if f := &list[i]; f.Module != "[CPython 3.12.1]" || f.Kind != "cpython" || f.PC != 0 {
				t.Errorf("%s: %+v at %v", name, f.Place, f.PC)
			}
		}
	}
}

func TestACompiledManagedFrameHasItsAddresses(t *testing.T) {
	source := &toy{functions: []managed.Frame{{Function: "hot"}}}
	e := &callstack.Entry{Source: source, Compiled: true}
	e.Frame = frames.Frame{PC: 0x40, SP: 0x80, Method: frames.MethodCFI}
	f := newWalker(t, nil).appendManaged(nil, e, nil)[0]
	if f.PC != 0x40 || f.SP != 0x80 || f.Method != frames.MethodCFI.String() {
		t.Errorf("%v, %v, by %q", f.PC, f.SP, f.Method)
	}
}

func TestEqualFramesShareTheirPlace(t *testing.T) {
	w := newWalker(t, nil)
	native := frames.Frame{PC: 0x1010, Module: &frames.Module{Start: 0x1000, End: 0x2000, Bias: 0x1000, Name: "/bin/kvd"}}
	generated := native
	generated.Module = &frames.Module{Start: 0x1000, End: 0x2000, Name: "[anon]", Generated: true}
	for _, f := range []frames.Frame{native, generated} {
		list := w.appendNative(w.appendNative(nil, &f, false), &f, false)
		if len(list) != 2 || list[0].Place != list[1].Place || list[0].Module != f.Module.Name {
			t.Errorf("%s: %+v", f.Module.Name, list)
		}
	}
	plain, machinery := w.appendNative(nil, &native, false)[0], w.appendNative(nil, &native, true)[0]
	if plain.Machinery || !machinery.Machinery || machinery.Offset != 0x10 {
		t.Errorf("%+v, of the machinery %+v", plain.Place, machinery.Place)
	}
}

func TestAThreadOfTheKernelHasOneFrameThatSaysSo(t *testing.T) {
	w := newWalker(t, nil)
	list := w.Native(frames.NewSpace(frames.X86_64), &frames.Regs{Arch: frames.X86_64}, &frames.Snapshot{})
	if got := functionsOf(list); !slices.Equal(got, []string{attribute.NoUserSpace}) {
		t.Errorf("%q", got)
	}
}

func TestAnIncompleteStackEndsWithItsReason(t *testing.T) {
	regs := &frames.Regs{Arch: frames.X86_64}
	regs.PC = 0x1234
	regs.Set(regs.Arch.SP(), 0x7000)
	account := filememory.New(1 << 20).Account("stacks")
	for name, c := range map[string]struct {
		memory *filememory.Account
		taken  int64
		reason string
	}{
		"no code at the address": {nil, 0, frames.StopNoRule.String()},
		"no memory":              {account, account.Left(), StopMemory},
	} {
		if err := c.memory.Take(c.taken, "stacks"); err != nil {
			t.Fatal(err)
		}
		w := newWalker(t, c.memory)
		list, complete, reason := w.WithReason(w.Native(frames.NewSpace(frames.X86_64), regs, &frames.Snapshot{}))
		if complete || reason != c.reason || list[len(list)-1].Function != incomplete.Name(c.reason) {
			t.Errorf("%s: complete %v, %q, %q", name, complete, reason, functionsOf(list))
		}
	}
}

func TestTheMemoryOfAReplacedWalkIsGivenBack(t *testing.T) {
	account := filememory.New(1 << 20).Account("stacks")
	w := newWalker(t, account)
	for name, pc := range map[string]frames.Addr{"of the kernel": 0, "incomplete": 0x1234} {
		regs := &frames.Regs{Arch: frames.X86_64, PC: pc}
		w.WithReason(w.Native(frames.NewSpace(frames.X86_64), regs, &frames.Snapshot{}))
		if account.Used() == 0 {
			t.Errorf("%s: no frame was charged", name)
		}
		if w.Uncharge(); account.Used() != 0 {
			t.Errorf("%s: %d bytes are still charged", name, account.Used())
		}
	}
}
