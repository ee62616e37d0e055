// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"slices"
	"testing"

	"prywalk/frames"
)

// removalAt puts instructions into memory, and returns what is known at the one with index i.
func removalAt(t testing.TB, instructions [][]byte, i int) (rule frames.Rule, row *frames.Row, ok, found bool) {
	t.Helper()
	f := newFake()
	const at = codeEnd + 0x100
	code := slices.Concat(instructions...)
	copy(f.mem[at:], code)
	c := &codelet{begin: at, end: at + uint64(len(code))}
	return f.openAnalysed(t).ruleInRemoval(c, at+uint64(len(slices.Concat(instructions[:i]...))))
}

// An instruction's place of the return address: sp + word, or a register; CFA − register.
type removed struct {
	ra   frames.RegRule
	reg  uint8
	over int64
}

func (r removed) check(t *testing.T, name string, instructions [][]byte, i int) {
	t.Helper()
	_, row, ok, found := removalAt(t, instructions, i)
	if !ok || !found || row.RA != r.ra || row.CFAReg != r.reg || row.CFAOff != r.over {
		t.Errorf("%s, instruction %d: %+v, %v, %v; want %+v", name, i, row, ok, found, r)
	}
}

func inReg(reg uint8) frames.RegRule { return frames.RegRule{Kind: frames.RuleReg, Reg: reg} }

func atSP(off int64) frames.RegRule {
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RSP, Off: off}
}

func TestEveryWayOfLeavingTheInterpreterIsKnown(t *testing.T) {
	polls := [][]byte{
		{0x49, 0x3b, 0xa7, 0x20, 6, 0, 0}, {0x72, 11}, // cmp rsp, [r15+…]; jb +11
		{0x49, 0xc7, 0x87, 0x20, 6, 0, 0, 0, 0, 0, 0}, // mov qword [r15+…], 0
	}
	clears := slices.Concat(clearsByte, []byte{0xbe, 3, 0, 0, 0})
	moves := [][]byte{senders[0].mov, senders[1].mov, senders[2].mov}
	rbx, rsi, r13 := frames.X86RBX, frames.X86RSI, frames.X86R13
	atSender := func(sender uint8) []removed {
		return []removed{{atSP(0), sender, 0}, {inReg(rsi), sender, 0}, {inReg(rsi), frames.X86RSP, 0}}
	}
	for _, c := range []struct {
		name string
		code [][]byte
		want []removed
	}{
		{"before JDK 21", [][]byte{{0x5e}, moves[0], {0xff, 0xe6}}, atSender(rbx)},
		{"a native method's end", [][]byte{{0x5e}, moves[1], {0xff, 0xe6}}, atSender(regR11)},
		{"JDK 21", [][]byte{{rexB, 0x5d}, moves[0], polls[0], polls[1], polls[2], {rexB, 0xff, 0xe5}},
			[]removed{{atSP(0), rbx, 0}, {inReg(r13), rbx, 0}, {inReg(r13), frames.X86RSP, 0}, {inReg(r13), frames.X86RSP, 0},
				{inReg(r13), frames.X86RSP, 0}, {inReg(r13), frames.X86RSP, 0}}},
		{"JDK 25", [][]byte{clears, {0x5e}, moves[0], polls[0], polls[1], polls[2], {0xff, 0xe6}},
			append([]removed{{atSP(0), rbx, 0}}, atSender(rbx)...)},
		{"into a loop's code", [][]byte{clears, {0x5e}, moves[2], {0x48, 0x83, 0xe4, 0xf0}, {0x56},
			{0xff, 0xa3, 0x90, 0, 0, 0}},
			[]removed{{atSP(0), frames.X86RDX, 0}, {atSP(0), frames.X86RDX, 0}, {inReg(rsi), frames.X86RDX, 0},
				{inReg(rsi), frames.X86RSP, 0}, {inReg(rsi), frames.X86RDX, 0}, {atSP(0), frames.X86RDX, 0}}},
	} {
		instructions := slices.Concat([][]byte{bytes.Repeat([]byte{0x90}, 20), {opLeave}}, c.code, [][]byte{{0x90, 0x90}})
		for i, want := range c.want {
			want.check(t, c.name, instructions, 2+i)
		}
		for name, i := range map[string]int{"before it": 1, "behind it": len(instructions) - 1} {
			if _, row, ok, _ := removalAt(t, instructions, i); ok {
				t.Errorf("%s, %s: %+v", c.name, name, row)
			}
		}
	}
}

func TestUnknownCodeAfterALeaveHasNoRule(t *testing.T) {
	unknown := [][]byte{{opLeave}, {0x5e}, {0x48, 0x8b, 0xe1}, {0xff, 0xe6}} // mov rsp, rcx
	for i := 1; i < len(unknown); i++ {
		if _, row, ok, found := removalAt(t, unknown, i); ok || !found {
			t.Errorf("instruction %d: %+v, %v, %v", i, row, ok, found)
		}
	}
}

// JDK 8.
func TestFrameRemovedByAnExceptionIsSkipped(t *testing.T) {
	instructions := [][]byte{
		{0x48, 0x8b, 0x5d, 0xf8}, {opLeave}, {0x5a}, {0x48, 0x8b, 0xe3}, // mov rbx, [rbp-8]; leave; pop rdx; mov rsp, rbx
		{0x49, 0x8b, 0x87, 0xa0, 2, 0, 0}, {0x49, 0xba, 0, 0, 0, 0, 0, 0, 0, 0}, {0x4d, 0x89, 0x97, 0xa0, 2, 0, 0},
		{0x50}, {0x52}, {0x48, 0x8b, 0xf2}, {0x49, 0x8b, 0xff}, // push rax; push rdx; mov rsi, rdx; mov rdi, r15
		{0xf7, 0xc4, 15, 0, 0, 0}, {0x0f, 0x84, 18, 0, 0, 0}, {0x48, 0x83, 0xec, 8}, {opCall, 1, 2, 3, 4},
		{0x48, 0x83, 0xc4, 8}, {opJump, 5, 0, 0, 0}, {opCall, 1, 2, 3, 4},
		{0x48, 0x8b, 0xd8}, {0x5a}, {0x58}, {0xff, 0xe3}, {0x90},
	}
	rbx, rdx, rsp := frames.X86RBX, frames.X86RDX, frames.X86RSP
	moved, two, three := removed{inReg(rdx), rsp, 0}, removed{atSP(0), rsp, 16}, removed{atSP(8), rsp, 24}
	for i, want := range []removed{2: {atSP(0), rbx, 0}, {inReg(rdx), rbx, 0}, moved, moved, moved, moved,
		{inReg(rdx), rsp, 8}, two, two, two, two, two, three, three, two, two, two, two, {inReg(rdx), rsp, 8}, moved} {
		if i >= 2 {
			want.check(t, "an exception", instructions, i)
		}
	}
	for _, i := range []int{0, 1, len(instructions) - 1} {
		if _, row, ok, _ := removalAt(t, instructions, i); ok {
			t.Errorf("instruction %d: %+v", i, row)
		}
	}
	aligned := slices.Concat(instructions[:11], [][]byte{{0x48, 0x83, 0xe4, 0xf0}}, instructions[17:])
	if _, row, ok, _ := removalAt(t, aligned, 12); ok {
		t.Errorf("where the stack is aligned in another way: %+v", row)
	}
}

func FuzzLeft(f *testing.F) {
	f.Add(append(bytes.Repeat([]byte{0x90}, 47), 0xc9, 0x5e, 0x48, 0x8b, 0xe3, 0xff, 0xe6))
	f.Fuzz(func(_ *testing.T, b []byte) {
		senderAfter(b)
		beginsOSREntry(b, 48)
		for n := range 2 * aroundBytes {
			inPollPiece(b, n, &blob{begin: 1, end: 1 << 40})
			inDeoptPiece(b, n, uint64(n))
		}
	})
}
