// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"
	"testing"

	"prywalk/frames"
)

// builtin is one function that saves the frame pointer only.
type builtin struct{ oneFunc }

func (builtin) SavesFPOnly(uint64) bool { return true }

func builtinOf(code []byte) *Source {
	all := builtin{oneFunc{base, base + uint64(len(code))}}
	return New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}, Funcs: all})
}

// As V8 resumes a generator.
func TestReturnAddressIsInARegisterWhileArgumentsArePushed(t *testing.T) {
	code := []byte{
		0x48, 0x8b, 0x7a, 0x17, // 0: mov rdi, [rdx+0x17]
		0x41, 0x5b, // 4: pop r11
		0x44, 0x8d, 0x48, 0xff, // 6: lea r9d, [rax-1]
		0x41, 0xff, 0xc9, // 10: dec r9d
		0x7c, 0x07, // 13: jl 22
		0x42, 0xff, 0x74, 0xcb, 0x0f, // 15: push [rbx+r9*8+15]
		0xeb, 0xf4, // 20: jmp 10
		0xff, 0x72, 0x27, // 22: push [rdx+0x27]
		0x41, 0x53, // 25: push r11
		0xff, 0xe1, // 27: jmp rcx
	}
	s := builtinOf(code)
	for _, at := range []uint64{6, 10, 13, 15, 20, 22, 25} {
		_, row, ok := s.Rule(frames.Query{PC: base + at})
		if !ok || row == nil || row.RA != (frames.RegRule{Kind: frames.RuleReg, Reg: 11}) {
			t.Errorf("+%d: row %+v, %v; want the return address in r11", at, row, ok)
			continue
		}
		if row.Regs[frames.X86RBP].Kind != frames.RuleSame || row.Regs[frames.X86RSP].Kind != frames.RuleUndefined {
			t.Errorf("+%d: registers %+v, want rbp the same and rsp unknown", at, row.Regs)
		}
	}
	for _, at := range []uint64{0, 4} {
		if r, row, ok := s.Rule(frames.Query{PC: base + at}); !ok || row != nil && row.RA.Kind == frames.RuleReg ||
			r.CFAReg != frames.X86RSP || r.CFAOff != 8 {
			t.Errorf("+%d: rule %+v, row %+v, %v; want the return address on top of the stack", at, r, row, ok)
		}
	}
	for _, spOnly := range []bool{false, true} {
		if r, row, ok := s.Rule(frames.Query{PC: base + 27, SPOnly: spOnly}); !ok || r.CFAReg != frames.X86RSP ||
			row == nil && r.CFAOff != 8 || row != nil && row.CFAOff != 8 {
			t.Errorf("+27: rule %+v, row %+v, %v; want the return address on top of the stack", r, row, ok)
		}
	}
	for _, at := range []uint64{6, 20, 25} { // on top of the stack is an argument, if anything
		if r, row, ok := s.Rule(frames.Query{PC: base + at, SPOnly: true}); ok {
			t.Errorf("+%d: by the stack pointer: rule %+v, row %+v", at, r, row)
		}
	}
	for _, at := range []uint64{6, 25} {
		if _, row, _ := s.Rule(frames.Query{PC: base + at, AfterCall: true}); row != nil && row.RA.Kind == frames.RuleReg {
			t.Errorf("+%d: as a caller the return address is in a register: %+v", at, row)
		}
	}
	other := intel(code...) // not known as a builtin
	if _, row, _ := other.Rule(frames.Query{PC: base + 10}); row != nil && row.RA.Kind == frames.RuleReg {
		t.Errorf("other code: row %+v", row)
	}
}

func TestNoRegisterHoldsTheReturnAddress(t *testing.T) {
	for what, code := range map[string][]byte{
		"another register on a path": {0x74, 0x04, 0x50, 0xff, 0xe1, 0x90, 0x41, 0x53, 0xff, 0xe1},
		"a call before the push":     {0xe8, 0x10, 0, 0, 0, 0x41, 0x53, 0xff, 0xe1},
		"a return":                   {0x41, 0x53, 0x90, 0xc3},
		"changed before the push":    {0x49, 0x8b, 0x1b, 0x4d, 0x8b, 0x1b, 0x41, 0x53, 0xff, 0xe1}, // mov r11, [r11]
		"the frame pointer changed":  {0x5d, 0x41, 0x53, 0xff, 0xe1},
		"a callee-saved register":    {0x53, 0xff, 0xe1},
		"too far to the other end":   farEnd(),
	} {
		if _, row, _ := builtinOf(code).Rule(frames.Query{PC: base}); row != nil && row.RA.Kind == frames.RuleReg {
			t.Errorf("%s: row %+v", what, row)
		}
	}
}

// farEnd branches to a return behind more instructions than a search follows.
func farEnd() []byte {
	code := []byte{0x0f, 0x84, 4, 0, 0, 0, 0x41, 0x53, 0xff, 0xe1} // je 10; push r11; jmp rcx
	code = append(code, bytes.Repeat([]byte{0x90}, maxSteps)...)
	return append(code, 0xc3)
}

// A builtin that reads r13 before it saves any register looks like a part split off.
func TestBuiltinHasTheFrameOfItsPrologue(t *testing.T) {
	code := []byte{
		0x4d, 0x8b, 0x55, 0x40, // 0: mov r10, [r13+0x40]
		0x74, 0x05, // 4: je 11
		0xe8, 0x10, 0, 0, 0, // 6: call
		0x49, 0x8b, 0x4d, 0x30, // 11: mov rcx, [r13+0x30]
		0x50,       // 15: push rax
		0xff, 0xd1, // 16: call rcx
		0x90,       // 18: nop
		0xff, 0xe1, // 19: jmp rcx
	}
	s := builtinOf(code)
	for _, at := range []uint64{0, 4, 6, 11, 15} {
		want(t, s, at, frames.X86RSP, 8, frames.MethodHeuristic)
	}
	// Calls may have popped what was pushed.
	if r, row, ok := s.Rule(frames.Query{PC: base + 18}); ok {
		t.Errorf("behind a call with an argument: rule %+v, row %+v", r, row)
	}
}

// The first instructions of V8's baseline code are in a builtin, which makes the frame of its caller.
func TestBuiltinThatMakesItsCallersFrameStandsInThatFrame(t *testing.T) {
	s := builtinOf([]byte{
		0x4d, 0x8b, 0x55, 0x40, // 0: mov r10, [r13+0x40]
		0x4c, 0x8b, 0x47, 0x27, // 4: mov r8, [rdi+0x27]
		0x41, 0x5f, // 8: pop r15
		0x55,             // 10: push rbp
		0x48, 0x89, 0xe5, // 11: mov rbp, rsp
		0x56, 0x57, // 14: push rsi; push rdi
		0x41, 0x57, // 16: push r15
		0xc3, // 18: ret
	})
	for at, off := range map[uint64]int32{0: 16, 4: 16, 8: 16, 10: 8, 11: 16} {
		want(t, s, at, frames.X86RSP, off, frames.MethodHeuristic)
	}
}
