// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// The saved register of execute_ex lies between frames of its own stack. The addresses between two stacks are not
// searched.
func TestCallsAreFoundPastAnotherStack(t *testing.T) {
	const user, loop, low, high = 0x5000, 0x1000, 0xc0_0000_0000, 0x7f00_0000_0000
	for _, c := range []struct {
		name   string
		inner  uint64
		outer  uint64
		at     uint64 // of the saved register, from there; 0 means in the context
		signal bool
		found  int
	}{
		{"one stack", high - 64, high, 64, false, 1},
		{"lower", low, high, 64, false, 1},
		{"higher", high + 1<<30, high, 64, false, 1},
		{"further in", high - 64, high, ^uint64(31), false, 1},
		{"not saved", low, high, 512, false, 0},
		{"handler on a lower stack", low, high, 64, true, 1},
		{"handler on a stack near", high - 1<<16, high, 64, true, 1},
		{"context on a lower stack", low, high, 0, true, 1},
		{"context on a stack near", high - 1<<16, high, 0, true, 1},
		{"context of another call", low, high, 0, false, 0},
		{"handler, not saved", high - 1<<16, high, 512, true, 0},
	} {
		stack, context := make([]byte, 1024), make([]byte, 512)
		from := c.outer - 128
		if c.at != 0 {
			binary.LittleEndian.PutUint64(stack[c.outer+c.at-from:], user)
		} else {
			binary.LittleEndian.PutUint64(context[88:], user)
		}
		regs := &frames.Regs{Arch: frames.X86_64, PC: 1}
		regs.Set(frames.X86_64.SP(), c.inner)
		regs.Set(frames.X86R14, 7)
		r := &Runtime{executeEx: managed.Span{Start: loop, End: loop + 0x100}, dataReg: frames.X86R14, thread: 1,
			oplineReg: frames.X86R15, host: &image{}, module: &frames.Module{Name: "libphp.so"}}
		mem := &frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: stack}}
		if c.inner < from || c.inner > c.outer {
			mem.Others = []frames.Region{{Addr: c.inner, Bytes: context}}
		}
		r.walk = walk{
			view:  &managed.View{Sample: &managed.Sample{InnerTID: 1, Regs: regs, Mem: mem}},
			calls: []executeData{{at: user, kind: typeUser}}, runs: []run{{0, 1, user}}, runsOnStack: 1,
			executeSP: c.inner, lastSP: c.inner,
		}
		var out []managed.Ref
		out, _ = r.ManagedFrames(&frames.Frame{PC: 1, SP: c.inner}, c.inner+64, out)
		out, _ = r.ManagedFrames(&frames.Frame{PC: 2, SP: c.outer, AfterCall: !c.signal}, c.outer+256, out)
		out, _ = r.ManagedFrames(&frames.Frame{PC: loop + 8, SP: c.outer + 256, AfterCall: true}, c.outer+512, out)
		if len(out) != c.found {
			t.Errorf("%s: %d calls, want %d", c.name, len(out), c.found)
		}
	}
}

type countedMemory struct{ n *int }

func (m countedMemory) Word(uint64) (uint64, bool) { *m.n++; return 0, false }
func (countedMemory) Cut(uint64) bool              { return false }

func TestOnlyTheCopiedStackIsSearchedForCalls(t *testing.T) {
	const user, loop, sp = 0x5000, 0x1000, 0x7f00_0000_0000
	n := 0
	regs := &frames.Regs{Arch: frames.X86_64, PC: 1}
	r := &Runtime{executeEx: managed.Span{Start: loop, End: loop + 0x100}, dataReg: frames.X86R14, thread: 1,
		oplineReg: frames.X86R15, host: &image{}, module: &frames.Module{Name: "libphp.so"}}
	r.walk = walk{
		view:  &managed.View{Sample: &managed.Sample{InnerTID: 1, Regs: regs, Mem: countedMemory{&n}}},
		calls: []executeData{{at: user, kind: typeUser}}, runs: []run{{0, 1, user}}, runsOnStack: 1,
		executeSP: sp, lastSP: sp,
	}
	at := uint64(sp)
	for range 64 {
		r.ManagedFrames(&frames.Frame{PC: 2, SP: at, AfterCall: true}, at+64, nil)
		at += maxFrameDistance
	}
	r.ManagedFrames(&frames.Frame{PC: loop + 8, SP: at, AfterCall: true}, at+64, nil)
	if n > 1000 {
		t.Errorf("%d words are read, though none is copied", n)
	}
}

func TestInnerCallsAreThoseThatLeadToTheUsersCall(t *testing.T) {
	const user, inner, second, top, noCall, below = 0x5100, 0x5180, 0x5200, 0x5280, 0x5300, 0x5080
	const far, stackAt = user + maxInnerDistance, 0x7f00_0000_0000
	calls := make([]byte, maxInnerDistance+0x200)
	call := func(at, info, prev uint64) {
		binary.LittleEndian.PutUint64(calls[at-0x5000+callInfo:], info)
		binary.LittleEndian.PutUint64(calls[at-0x5000+callPrev:], prev)
	}
	call(inner, 0, user)
	call(second, 0, inner)
	call(top, callTop, user)
	call(below, 0, user)
	call(far, 0, user)
	for _, c := range []struct {
		what       string
		user, word uint64
		want       bool
	}{
		{"its callee", user, inner, true},
		{"the callee of that", user, second, true},
		{"itself", user, user, false},
		{"a call that begins a run", user, top, false},
		{"no call", user, noCall, false},
		{"not aligned", user, inner + 4, false},
		{"a call before it", user, below, false},
		{"a call that is too far", user, far, false},
		{"without a user's call", 0, inner, false},
	} {
		for _, onStack := range []bool{false, true} {
			regs, stack := &frames.Regs{Arch: frames.X86_64}, make([]byte, 64)
			if onStack {
				binary.LittleEndian.PutUint64(stack[32:], c.word)
			} else {
				regs.Set(frames.X86R14, c.word)
			}
			w := &walk{view: &managed.View{Sample: &managed.Sample{Regs: regs, Mem: &frames.Snapshot{
				Stack:  frames.Region{Addr: stackAt, Bytes: stack},
				Others: []frames.Region{{Addr: 0x5000, Bytes: calls}}}}}}
			parts := [2]managed.Span{{}, {Start: stackAt, End: stackAt + 64}}
			if got := w.hasInnerOnStack(&run{user: c.user}, parts); got != c.want {
				t.Errorf("%s, on the stack %t: %t, want %t", c.what, onStack, got, c.want)
			}
		}
	}
}
