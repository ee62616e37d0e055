// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

func TestV8PopsAVariableNumberOfArguments(t *testing.T) {
	// leave; pop rcx; lea rsp,[rsp+rdx*8+8]; push rcx; ret
	s := intel(0xc9, 0x59, 0x48, 0x8d, 0x64, 0xd4, 0x08, 0x51, 0xc3)
	want(t, s, 0, frames.X86RBP, 16, frames.MethodFP)
	want(t, s, 1, frames.X86RSP, 8, frames.MethodHeuristic)
}

// V8's CEntry has the end of its arguments in r15. The word there is the last argument, not the return address.
func TestV8PopsArgumentsThatEndAtARegister(t *testing.T) {
	// leave; mov rsi,[r13+0x98]; pop rcx; lea rsp,[r15+8]; push rcx; ret
	s := intel(0xc9, 0x49, 0x8b, 0xb5, 0x98, 0, 0, 0, 0x59, 0x49, 0x8d, 0x67, 0x08, 0x51, 0xc3)
	want(t, s, 0, frames.X86RBP, 16, frames.MethodFP)
	want(t, s, 1, frames.X86RSP, 8, frames.MethodHeuristic)
	// mov rcx,[rbp+8]; mov rbp,[rbp]; lea rsp,[r15+8]; push rcx; mov rsi,[r13+0x98]; ret
	s = intel(0x48, 0x8b, 0x4d, 0x08, 0x48, 0x8b, 0x6d, 0x00, 0x49, 0x8d, 0x67, 0x08, 0x51,
		0x49, 0x8b, 0xb5, 0x98, 0, 0, 0, 0xc3)
	want(t, s, 0, frames.X86RBP, 16, frames.MethodFP)
}

func regsWith(vals map[uint8]uint64) *frames.Regs {
	r := &frames.Regs{Arch: frames.X86_64}
	for reg, v := range vals {
		r.Set(reg, v)
	}
	return r
}

func TestReturnAddressIsInARegisterWhileArgumentsArePopped(t *testing.T) {
	for _, c := range []struct {
		name       string
		code       []byte
		drop, push uint64 // offsets of the instructions
		ra         uint8
		regs       map[uint8]uint64
		cfa        uint64
	}{
		{"leave; pop rcx; add rsp, rbx; push rcx; ret", []byte{0xc9, 0x59, 0x48, 0x03, 0xe3, 0x51, 0xc3}, 2, 5, frames.X86RCX,
			map[uint8]uint64{frames.X86RSP: 0x1000, frames.X86RBX: 24}, 0x1018},
		{"pop rbp; pop r10; lea rsp, [rsp+rcx*8]; push r10; ret", []byte{0x5d, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52,
			0xc3}, 3, 7, 10,
			map[uint8]uint64{frames.X86RSP: 0x1000, frames.X86RCX: 3}, 0x1018},
		{"pop rbp; pop r8; lea rsp, [rsp+rbx*8+8]; push r8; ret", []byte{0x5d, 0x41, 0x58, 0x48, 0x8d, 0x64, 0xdc, 8, 0x41,
			0x50, 0xc3}, 3, 8, 8,
			map[uint8]uint64{frames.X86RSP: 0x1000, frames.X86RBX: 2}, 0x1018},
	} {
		s := intel(c.code...)
		for _, at := range []uint64{c.drop, c.push} {
			_, row, ok := s.Rule(frames.Query{PC: base + at})
			if !ok || row == nil || row.RA != (frames.RegRule{Kind: frames.RuleReg, Reg: c.ra}) || row.CFAReg != frames.X86RSP ||
				row.CFAOff != 0 {
				t.Errorf("%s: +%d: row %+v, %v; want the return address in the register", c.name, at, row, ok)
				continue
			}
			if row.Regs[frames.X86RBP].Kind != frames.RuleSame || row.Regs[frames.X86RBX].Kind != frames.RuleUndefined {
				t.Errorf("%s: +%d: registers %+v, want rbp restored and rbx unknown", c.name, at, row.Regs)
			}
			switch {
			case at == c.push && row.CFAExpr != nil:
				t.Errorf("%s: +%d: CFA is an expression %+v, want an offset", c.name, at, row.CFAExpr)
			case at == c.drop:
				if cfa, ok := row.CFAExpr.Eval(regsWith(c.regs), nil, 0); !ok || cfa != c.cfa {
					t.Errorf("%s: CFA %#x, %v; want %#x", c.name, cfa, ok, c.cfa)
				}
				if _, ok := row.CFAExpr.Eval(regsWith(map[uint8]uint64{frames.X86RSP: 0x1000}), nil, 0); ok {
					t.Errorf("%s: a CFA though the number of arguments is unknown", c.name)
				}
			}
		}
		q := frames.Query{PC: base + c.drop, AfterCall: true}
		if _, row, _ := s.Rule(q); row != nil && row.RA.Kind == frames.RuleReg {
			t.Errorf("%s: as a caller the return address is in a register: %+v", c.name, row)
		}
	}
}

// V8's CEntry, while its caller's arguments end at r15.
func TestReturnAddressIsInARegisterWhileArgumentsThatEndAtARegisterArePopped(t *testing.T) {
	s := intel(0xc9, 0x59, 0x49, 0x8d, 0x67, 0x08, 0x51, 0xc3) // leave; pop rcx; lea rsp, [r15+8]; push rcx; ret
	for at, want := range map[uint64]frames.Row{
		2: {CFAReg: frames.X86R15, CFAOff: 8},
		6: {CFAReg: frames.X86RSP},
	} {
		_, row, ok := s.Rule(frames.Query{PC: base + at})
		if !ok || row == nil || row.RA != (frames.RegRule{Kind: frames.RuleReg, Reg: frames.X86RCX}) ||
			row.CFAExpr != nil || row.CFAReg != want.CFAReg || row.CFAOff != want.CFAOff {
			t.Errorf("+%d: row %+v, %v; want the return address in rcx, CFA %d%+d", at, row, ok, want.CFAReg, want.CFAOff)
		}
	}
}

// The return address is then below the pushed word.
func TestPushAndReturnIsAJump(t *testing.T) {
	// mov rcx, [rcx+0x27]; push rcx; ret
	s := intel(0x48, 0x8b, 0x49, 0x27, 0x51, 0xc3)
	for _, at := range []uint64{0, 4} {
		if _, row, ok := s.Rule(frames.Query{PC: base + at}); ok && row != nil && row.RA.Kind == frames.RuleReg {
			t.Errorf("+%d: return address in a register: %+v", at, row)
		}
	}
}

// V8's baseline code, and the builtin that it calls first.
func TestFrameMadeByACallee(t *testing.T) {
	code := []byte{
		0xbb, 0x40, 0, 0, 0, // 0: mov ebx, 64
		0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, // 5: mov r12, imm64
		0xe8, 7, 0, 0, 0, // 15: call 27
		0x50,             // 20: push rax
		0x48, 0x89, 0xec, // 21: mov rsp, rbp
		0x5d, 0xc3, // 24: pop rbp; ret
		0xcc,                   // 26
		0x4c, 0x8b, 0x47, 0x27, // 27: mov r8, [rdi+0x27]
		0x75, 0x0b, // 31: jne 44
		0x41, 0x5f, // 33: pop r15
		0x55,             // 35: push rbp
		0x48, 0x89, 0xe5, // 36: mov rbp, rsp
		0x56, 0x57, // 39: push rsi; push rdi
		0x41, 0x57, // 41: push r15
		0xc3, // 43: ret
		0xcc, // 44
	}
	s := New(Options{Arch: frames.X86_64, JIT: true, Code: bytesCode{base, code}})
	bounds := New(Options{Arch: frames.X86_64, JIT: true, Code: bytesCode{base, code}, Funcs: oneFunc{base, base + 27}})
	for _, s := range []*Source{s, bounds} {
		for _, at := range []uint64{0, 5, 15} {
			_, row, ok := s.Rule(frames.Query{PC: base + at})
			if !ok || row == nil || row.CFAReg != frames.X86RSP || row.CFAOff != 8 ||
				row.Regs[frames.X86RBP].Kind != frames.RuleSame {
				t.Errorf("+%d: %+v, %v", at, row, ok)
			}
		}
		if r, row, ok := s.Rule(frames.Query{PC: base + 20}); !ok || r.CFAReg != frames.X86RBP || r.CFAOff != 16 {
			t.Errorf("after the call: %+v, %+v, %v; want rbp+16", r, row, ok)
		}
	}
	own := append([]byte(nil), code...)
	own[33], own[34] = 0x90, 0x90
	if r, _, _ := New(Options{Arch: frames.X86_64, JIT: true,
		Code: bytesCode{base, own}}).Rule(frames.Query{PC: base}); r.CFAReg != frames.X86RBP {
		t.Errorf("callee with a frame of its own: %+v, want a CFA relative to rbp", r)
	}
}

func TestBytecodeHandlerOfUnknownBoundsHasRules(t *testing.T) {
	code := []byte{
		0x48, 0x8b, 0xd5, // 0: mov rdx, rbp
		0x41, 0x0f, 0xb6, 0x3c, 0x11, // 3: movzbl edi, [r9+rdx]
		0x49, 0x8b, 0x0c, 0xff, // 8: mov rcx, [r15+rdi*8]
		0x4c, 0x8b, 0xe2, // 12: mov r12, rdx
		0xff, 0xe1, // 15: jmp rcx
		0x48, 0x8b, 0x0c, 0xf8, // 17: mov rcx, [rax+rdi*8], a switch's table
		0xff, 0xe1, // 21: jmp rcx
	}
	s := intel(code...)
	for _, at := range []uint64{0, 3, 8, 12, 15} {
		r, row, ok := s.Rule(frames.Query{PC: base + at})
		if !ok || r.CFAReg != frames.X86RSP || row != nil && row.CFAOff != 8 || row == nil && r.CFAOff != 8 {
			t.Errorf("+%d: %+v, %+v, %v; want rsp+8", at, r, row, ok)
		}
		if r, row, ok := s.Rule(frames.Query{PC: base + at, AfterCall: true}); ok {
			t.Errorf("+%d, as a caller: %+v, %+v; want no rule", at, r, row)
		}
	}
	for _, at := range []uint64{17, 21} {
		if r, row, ok := s.Rule(frames.Query{PC: base + at}); ok {
			t.Errorf("+%d, a switch: %+v, %+v; want no rule", at, r, row)
		}
	}
}
