// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"testing"

	"prywalk/frames"
)

// followed returns the rule, by data flow, before the last byte of a function.
func followed(t *testing.T, tab *rules, entry uint64, code ...byte) (frames.Rule, *frames.Row) {
	t.Helper()
	tab.img.Read = func(addr uint64, b []byte) int { return copy(b, code[addr-entry:]) }
	f := funcInfo{entry: entry, end: entry + uint64(len(code)), flag: flagSPWrite}
	r := frames.Rule{CFAReg: frames.X86RSP, Method: frames.MethodCFI}
	r, row, ok := rulesX86{tab}.followedX86(frames.Query{PC: f.end - 1}, &f, kindFollow, r)
	if !ok {
		t.Fatalf("no rule for % x", code)
	}
	return r, row
}

func TestSavedRegistersStayKnownWhenRBPIsOverwritten(t *testing.T) {
	tab := &rules{funcs: &funcs{img: Image{Arch: frames.X86_64}}, flows: map[uint64]*flow{},
		rows: map[rowKey]*frames.Row{}}
	place := func(off int64) frames.RegRule { return frames.RegRule{Kind: frames.RuleOffset, Off: off} }
	same := frames.RegRule{}
	for i, c := range []struct {
		code     []byte
		rbx, r12 frames.RegRule
	}{
		// push rbx; push r12; mov rbp, rax
		{[]byte{0x53, 0x41, 0x54, 0x48, 0x89, 0xc5, 0x90}, place(-16), place(-24)},
		// push r12; push rbx; mov rbp, rax
		{[]byte{0x41, 0x54, 0x53, 0x48, 0x89, 0xc5, 0x90}, place(-24), place(-16)},
		// sub rsp, 16; mov rbp, rax
		{[]byte{0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xc5, 0x90}, same, same},
	} {
		r, row := followed(t, tab, uint64(0x1000*(i+1)), c.code...)
		if row == nil || r.CFAReg != frames.X86RSP || row.CFAOff != 24 {
			t.Fatalf("% x: rule %+v, row %+v; want a row of CFA rsp+24", c.code, r, row)
		}
		if got := row.Regs[frames.X86RBX]; got != c.rbx {
			t.Errorf("% x: rbx is at %+v, want %+v", c.code, got, c.rbx)
		}
		if got := row.Regs[frames.X86R12]; got != c.r12 {
			t.Errorf("% x: r12 is at %+v, want %+v", c.code, got, c.r12)
		}
		if got := row.Regs[frames.X86RBP].Kind; got != frames.RuleUndefined {
			t.Errorf("% x: rbp has rule %v, want undefined", c.code, got)
		}
	}
}
