// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"testing"

	"prywalk/frames"
)

func followed(t *testing.T, tab *rules, entry uint64, code ...byte) (frames.Rule, *frames.Row) {
	t.Helper()
	tab.funcs.img.Read = func(addr uint64, b []byte) int { return copy(b, code[addr-entry:]) }
	f := funcInfo{entry: entry, end: entry + uint64(len(code)), flag: flagSPWrite}
	r := frames.Rule{CFAReg: frames.X86RSP, Method: frames.MethodCFI}
	r, row, ok := tab.followedX86(frames.Query{PC: f.end - 1}, &f, kindFollow, r)
	if !ok {
		t.Fatalf("no rule for % x", code)
	}
	return r, row
}

func TestSavedRegistersStayKnownWhenRBPIsOverwritten(t *testing.T) {
	tab := &rules{funcs: &funcs{img: Image{Arch: frames.X86_64}}}
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

// As in racecall, r12 keeps the stack pointer.
func TestACopyOfTheStackPointerLeadsBackToItsStack(t *testing.T) {
	tab := &rules{funcs: &funcs{img: Image{Arch: frames.X86_64}}}
	for i, c := range []struct {
		code []byte
		reg  uint8
		off  int32
	}{
		// mov r12, rsp; mov rsp, [r10+0x38]; and rsp, -16; call rax
		{[]byte{0x49, 0x89, 0xe4, 0x49, 0x8b, 0x62, 0x38, 0x48, 0x83, 0xe4, 0xf0, 0xff, 0xd0, 0x90}, frames.X86R12, 8},
		// push rax; mov rbx, rsp; and rsp, -16; call rax
		{[]byte{0x50, 0x48, 0x8b, 0xdc, 0x48, 0x83, 0xe4, 0xf0, 0xff, 0xd0, 0x90}, frames.X86RBX, 16},
		// mov r12, rsp; and rsp, -16; call rax; mov rsp, r12
		{[]byte{0x49, 0x89, 0xe4, 0x48, 0x83, 0xe4, 0xf0, 0xff, 0xd0, 0x4c, 0x89, 0xe4, 0x90}, frames.X86RSP, 8},
	} {
		r, row := followed(t, tab, uint64(0x1000*(i+1)), c.code...)
		if row != nil || r.CFAReg != c.reg || r.CFAOff != c.off {
			t.Errorf("% x: rule %+v, row %+v; want register %d%+d", c.code, r, row, c.reg, c.off)
		}
	}
	for i, code := range [][]byte{
		// mov r12, rsp; and rsp, -16; mov r12, rax
		{0x49, 0x89, 0xe4, 0x48, 0x83, 0xe4, 0xf0, 0x49, 0x89, 0xc4, 0x90},
		// mov r12, rsp; and rsp, -16; pop r12
		{0x49, 0x89, 0xe4, 0x48, 0x83, 0xe4, 0xf0, 0x41, 0x5c, 0x90},
		// mov r12, rsp; and rsp, -16; shlx r12, rax, rcx
		{0x49, 0x89, 0xe4, 0x48, 0x83, 0xe4, 0xf0, 0xc4, 0x62, 0xf1, 0xf7, 0xe0, 0x90},
		// mov rbx, rsp; and rsp, -16; cpuid
		{0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xf0, 0x0f, 0xa2, 0x90},
		// push rbp; mov rbp, rax; leave
		{0x55, 0x48, 0x89, 0xc5, 0xc9, 0x90},
		// mov r9, rsp; and rsp, -16: C code does not preserve r9
		{0x49, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xf0, 0x90},
		// and rsp, -16; mov r12, rsp
		{0x48, 0x83, 0xe4, 0xf0, 0x49, 0x89, 0xe4, 0x90},
	} {
		if _, row := followed(t, tab, uint64(0x10000*(i+1)), code...); row != &refused {
			t.Errorf("% x: row %+v, want a refusal", code, row)
		}
	}
}
