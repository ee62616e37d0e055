// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

type bytesCode struct {
	base uint64
	b    []byte
}

func (c bytesCode) ReadCode(addr uint64, buf []byte) int {
	if addr < c.base || addr-c.base >= uint64(len(c.b)) {
		return 0
	}
	return copy(buf, c.b[addr-c.base:])
}

type oneFunc struct{ lo, hi uint64 }

func (f oneFunc) FuncRange(pc uint64) (uint64, uint64, bool) {
	return f.lo, f.hi, pc >= f.lo && pc < f.hi
}

const base = 0x401000

func intel(code ...byte) *Source {
	return New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}})
}

func arm(jit bool, words ...uint32) *Source {
	return New(Options{Arch: frames.ARM64, Code: bytesCode{base, armBytes(words...)}, JIT: jit})
}

func armBytes(words ...uint32) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func want(t *testing.T, s *Source, off uint64, reg uint8, cfa int32, m frames.Method) frames.Rule {
	t.Helper()
	r, _, ok := s.Rule(frames.Query{PC: base + off})
	if !ok || r.CFAReg != reg || r.CFAOff != cfa || r.Method != m {
		t.Errorf("+%#x: %+v, %v; want CFA r%d+%d, %v", off, r, ok, reg, cfa, m)
	}
	return r
}

func TestFramePointerIsProvenByLeave(t *testing.T) {
	// push rbp; mov rbp,rsp; and rsp,-32; sub rsp,64; nop; leave; ret
	s := intel(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x40, 0x90, 0xc9, 0xc3)
	want(t, s, 0, frames.X86RSP, 8, frames.MethodHeuristic)
	want(t, s, 1, frames.X86RSP, 16, frames.MethodHeuristic)
	r := want(t, s, 12, frames.X86RBP, 16, frames.MethodFP)
	if r.Saved[0] != 2 {
		t.Errorf("rbp is saved at CFA-%d, want CFA-16", 8*r.Saved[0])
	}
	want(t, s, 14, frames.X86RSP, 8, frames.MethodHeuristic)
}

func TestSlowPathOfASafepointPollHasNoVote(t *testing.T) {
	// add rsp,16; pop rbp; cmp rsp,[r15+0x398]; ja slow; ret; slow: jmp *r10
	s := New(Options{Arch: frames.X86_64, JIT: true, Code: bytesCode{base, []byte{
		0x48, 0x83, 0xc4, 0x10, 0x5d, 0x49, 0x3b, 0xa7, 0x98, 3, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, 0xc3, 0x41, 0xff, 0xe2}}})
	r := want(t, s, 0, frames.X86RSP, 32, frames.MethodHeuristic)
	if r.Saved[0] != 2 {
		t.Errorf("rbp is saved at CFA-%d, want CFA-16", 8*r.Saved[0])
	}
}

func TestPLTEntriesAreTailCallsWithTheStackAsAtTheirPushes(t *testing.T) {
	// plt0: push [rip+x]; bnd jmp [rip+y]; nop (3)
	// entry: endbr64; push 0; bnd jmp plt0; nop
	// sec: endbr64; bnd jmp [rip+x]
	s := intel(
		0xff, 0x35, 0, 0, 0, 0, 0xf2, 0xff, 0x25, 0, 0, 0, 0, 0x0f, 0x1f, 0,
		0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0, 0, 0xf2, 0xe9, 0xe1, 0xff, 0xff, 0xff, 0x90,
		0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0)
	want(t, s, 0x10, frames.X86RSP, 8, frames.MethodHeuristic)
	want(t, s, 0x14, frames.X86RSP, 8, frames.MethodHeuristic)
	want(t, s, 0x19, frames.X86RSP, 16, frames.MethodHeuristic)
	want(t, s, 0x00, frames.X86RSP, 16, frames.MethodHeuristic)
	want(t, s, 0x06, frames.X86RSP, 24, frames.MethodHeuristic)
	want(t, s, 0x20, frames.X86RSP, 8, frames.MethodHeuristic)
}

func TestChildOfCloneIsRoot(t *testing.T) {
	// xor ebp,ebp; pop rax; pop rdi; call *rax; mov edi,eax; mov eax,60; syscall
	s := intel(0x31, 0xed, 0x58, 0x5f, 0xff, 0xd0, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05)
	for _, q := range []frames.Query{{PC: base}, {PC: base + 2}, {PC: base + 4}, {PC: base + 6, AfterCall: true}} {
		if r, _, ok := s.Rule(q); !ok || r.Flags&frames.FlagRoot == 0 {
			t.Errorf("%#x: %+v, %v; want the root", q.PC, r, ok)
		}
	}
	// musl's: xor ebp,ebp; pop rdi; call *r9; mov edi,eax; xor eax,eax; mov al,60; syscall
	s = intel(0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05)
	for _, q := range []frames.Query{{PC: base}, {PC: base + 3}, {PC: base + 6, AfterCall: true}} {
		if r, _, ok := s.Rule(q); !ok || r.Flags&frames.FlagRoot == 0 {
			t.Errorf("musl, %#x: %+v, %v; want the root", q.PC, r, ok)
		}
	}
	// _exit is not a root: mov edi,1; mov eax,60; syscall
	s = intel(0xbf, 1, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05)
	if r, _, ok := s.Rule(frames.Query{PC: base}); ok && r.Flags&frames.FlagRoot != 0 {
		t.Error("a function that exits has a root rule")
	}
}

func TestEntryPointIsRoot(t *testing.T) {
	// xor ebp,ebp; call *[rip+x]; hlt; ret
	s := New(Options{Arch: frames.X86_64, Entry: base, Code: bytesCode{base,
		[]byte{0x31, 0xed, 0xff, 0x15, 0, 0, 0, 0, 0xf4, 0xc3}}})
	for _, q := range []frames.Query{{PC: base}, {PC: base + 8, AfterCall: true}} {
		if r, _, ok := s.Rule(q); !ok || r.Flags&frames.FlagRoot == 0 {
			t.Errorf("%#x: %+v, %v; want the root", q.PC, r, ok)
		}
	}
	if r, _, ok := s.Rule(frames.Query{PC: base + 9}); !ok || r.Flags&frames.FlagRoot != 0 {
		t.Errorf("the function after the entry point: %+v, %v; want a rule that is not a root", r, ok)
	}
}

func TestLongEntryPointIsRoot(t *testing.T) {
	// Free Pascal's: 76 bytes (here: lea rax,[rip]), call x; hlt; ret
	var code []byte
	for range 10 {
		code = append(code, 0x48, 0x8d, 0x05, 0, 0, 0, 0)
	}
	code = append(code, 0xe8, 0, 1, 0, 0, 0xf4, 0xc3)
	s := New(Options{Arch: frames.X86_64, Entry: base, Code: bytesCode{base, code}})
	for _, q := range []frames.Query{{PC: base + 14}, {PC: base + 75, AfterCall: true}} {
		if r, _, ok := s.Rule(q); !ok || r.Flags&frames.FlagRoot == 0 {
			t.Errorf("%#x: %+v, %v; want the root", q.PC, r, ok)
		}
	}
	// The call does not return, so another function follows the padding, which has a caller.
	code = append(code[:75], 0x0f, 0x1f, 0x44, 0, 0, 0x55, 0x58, 0xc3) // nop (5 bytes); push rbp; pop rax; ret
	s = New(Options{Arch: frames.X86_64, Entry: base, Code: bytesCode{base, code}})
	if r, _, ok := s.Rule(frames.Query{PC: base + 75, AfterCall: true}); !ok || r.Flags&frames.FlagRoot == 0 {
		t.Errorf("after the last call: %+v, %v; want the root", r, ok)
	}
	if r, _, ok := s.Rule(frames.Query{PC: base + 81}); !ok || r.Flags&frames.FlagRoot != 0 || r.CFAOff != 16 {
		t.Errorf("the function after the entry point: %+v, %v; want rsp+16", r, ok)
	}
}

func TestCodeWithoutReturnHasNoRule(t *testing.T) {
	// add rbx,8; jmp *[rbx+rax*8]: an interpreter's dispatch
	s := intel(0x48, 0x83, 0xc3, 0x08, 0xff, 0x24, 0xc3)
	if r, _, ok := s.Rule(frames.Query{PC: base}); ok {
		t.Errorf("rule %+v, want none", r)
	}
}

func TestFunctionThatNeverReturnsIsReadFromItsStart(t *testing.T) {
	// push rbx; sub rsp,32; L: call L; (end)
	code := []byte{0x53, 0x48, 0x83, 0xec, 0x20, 0xe8, 0xfb, 0xff, 0xff, 0xff}
	s := New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}, Funcs: oneFunc{base, base + 10}})
	r, _, ok := s.Rule(frames.Query{PC: base + 10, AfterCall: true})
	if !ok || r.CFAReg != frames.X86RSP || r.CFAOff != 48 || r.Saved[1] != 2 {
		t.Errorf("%+v, %v; want rsp+48, rbx at CFA-16", r, ok)
	}
}

func TestSPOnlyQueriesHaveRulesRelativeToTheStackPointer(t *testing.T) {
	// push rbp; mov rbp,rsp; push rbx; sub rsp,24; nop; mov rbx,[rbp-8]; leave; ret
	code := []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0x90, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3}
	o := Options{Arch: frames.X86_64, Code: bytesCode{base, code}}
	if _, _, ok := New(o).Rule(frames.Query{PC: base + 9, SPOnly: true}); ok {
		t.Error("an SPOnly query has a rule without the function's start")
	}
	o.Funcs = oneFunc{base, base + uint64(len(code))}
	r, _, ok := New(o).Rule(frames.Query{PC: base + 9, SPOnly: true})
	if !ok || r.CFAReg != frames.X86RSP || r.CFAOff != 48 || r.Saved[0] != 2 || r.Saved[1] != 3 {
		t.Errorf("an SPOnly query: rule %+v, %v; want rsp+48 with rbp and rbx saved", r, ok)
	}
	r, _, ok = New(o).Rule(frames.Query{PC: base + 9})
	if !ok || r.CFAReg != frames.X86RBP || r.Method != frames.MethodFP {
		t.Errorf("a query with all registers: rule %+v, %v; want one relative to rbp", r, ok)
	}
}

func TestCallsAreRecognisedByTheBytesBefore(t *testing.T) {
	for _, c := range []struct {
		name   string
		code   []byte
		ok     bool
		direct uint64
	}{
		{"call rel32", []byte{0xe8, 0xfb, 0xff, 0xff, 0xff}, true, base},
		{"call rel32 out of the code", []byte{0xe8, 0, 0, 0, 0x40}, false, 0},
		{"call rax", []byte{0xff, 0xd0}, true, 0},
		{"call r12", []byte{0x41, 0xff, 0xd4}, true, 0},
		{"call [rax]", []byte{0xff, 0x10}, true, 0},
		{"call [rsp]", []byte{0xff, 0x14, 0x24}, true, 0},
		{"call [rbx+8]", []byte{0xff, 0x53, 0x08}, true, 0},
		{"call [rsp+8]", []byte{0xff, 0x54, 0x24, 0x08}, true, 0},
		{"call [rip+x]", []byte{0xff, 0x15, 1, 2, 3, 0}, true, 0},
		{"notrack call rax", []byte{0x3e, 0xff, 0xd0}, true, 0},
		{"call [rax+rbx*8+x]", []byte{0xff, 0x94, 0xd8, 1, 2, 3, 0}, true, 0},
		{"jmp rax", []byte{0xff, 0xe0}, false, 0},
		{"far call", []byte{0xff, 0x5b, 0x08}, false, 0},
		{"mov", []byte{0x48, 0x89, 0xd8}, false, 0},
	} {
		call, ok := intel(c.code...).CallBefore(base + uint64(len(c.code)))
		if ok != c.ok || call.Direct != (c.direct != 0) || call.Target != c.direct {
			t.Errorf("%s: call %+v, %v; want %v", c.name, call, ok, c.ok)
		}
	}
}

func TestCallsAreRecognisedByTheWordBeforeOnArm64(t *testing.T) {
	for _, c := range []struct {
		name string
		word uint32
		ok   bool
	}{
		{"bl .", 0x94000000, true}, {"blr x1", 0xd63f0020, true}, {"blraa x1, x2", 0xd73f0822, true},
		{"blraaz x1", 0xd63f083f, true}, {"br x1", 0xd61f0020, false}, {"b .", 0x14000000, false}, {"nop", 0xd503201f, false},
	} {
		call, ok := arm(false, c.word).CallBefore(base + 4)
		if ok != c.ok || call.Direct && call.Target != base {
			t.Errorf("%s: call %+v, %v; want %v", c.name, call, ok, c.ok)
		}
	}
}

func TestFrameWithPointerAuthenticationOnArm64(t *testing.T) {
	// paciasp; stp x29,x30,[sp,-32]!; mov x29,sp; str x19,[sp,16]; bl .;
	// ldr x19,[sp,16]; ldp x29,x30,[sp],32; retaa
	s := arm(false, 0xd503233f, 0xa9be7bfd, 0x910003fd, 0xf9000bf3, 0x94000000, 0xf9400bf3, 0xa8c27bfd, 0xd65f0bff)
	for _, c := range []struct {
		pc   uint64
		cfa  int32
		leaf bool
	}{{0, 0, true}, {4, 0, true}, {8, 32, false}, {16, 32, false}, {24, 32, false}, {28, 0, true}} {
		r := want(t, s, c.pc, frames.ARM64SP, c.cfa, frames.MethodHeuristic)
		if leaf := r.Flags&frames.FlagRAInLR != 0; leaf != c.leaf || !leaf && (r.Saved[0] != 4 || r.Saved[1] != 3) {
			t.Errorf("+%d: rule %+v, want leaf %v", c.pc, r, c.leaf)
		}
	}
	// With pacia x30, sp; autia x30, sp; ret. With paciasppc; retaasppc. With paciasppc; retaasppcr x16.
	for _, c := range [][3]uint32{
		{0xdac103fe, 0xdac113fe, 0xd65f03c0}, {0xdac1a3fe, 0xd503201f, 0x5500007f}, {0xdac1a3fe, 0xd503201f, 0xd65f0bf0},
	} {
		s = arm(false, c[0], 0xa9be7bfd, 0x910003fd, 0x94000000, 0xa8c27bfd, c[1], c[2])
		for pc, cfa := range map[uint64]int32{0: 0, 4: 0, 8: 32, 16: 32, 20: 0, 24: 0} {
			want(t, s, pc, frames.ARM64SP, cfa, frames.MethodHeuristic)
		}
	}
	// The same with sp restored from the frame pointer first.
	s = arm(false, 0x910003bf, 0xa8c27bfd, 0xd65f03c0) // mov sp,x29; ldp; ret
	want(t, s, 0, frames.ARM64FP, 32, frames.MethodFP)
}

func TestPushedArgumentIsNoSavedRegister(t *testing.T) {
	// push rbx (saved); mov ebx,[rbp+24]; push rbx (argument); call .+5+32; add eax,ebx; mov rbx,[rbp-8]; leave; ret
	s := intel(0x53, 0x8b, 0x5d, 0x18, 0x53, 0xe8, 0x20, 0, 0, 0, 0x01, 0xd8, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3)
	for _, argument := range []uint64{4, 5} {
		if r := want(t, s, argument, frames.X86RBP, 16, frames.MethodFP); r.Saved[1] != 3 {
			t.Errorf("+%d: rbx is saved at CFA-%d, want CFA-24", argument, 8*r.Saved[1])
		}
	}
	if r := want(t, s, 0, frames.X86RBP, 16, frames.MethodFP); r.Saved[1] != 0 {
		t.Errorf("before the push: rbx is saved at CFA-%d, want its register", 8*r.Saved[1])
	}
}

func TestUnknownArchitectureHasNoRules(t *testing.T) {
	s := New(Options{})
	if _, _, ok := s.Rule(frames.Query{PC: 1}); ok {
		t.Error("an unknown architecture has a rule")
	}
	if _, ok := s.CallBefore(1); ok {
		t.Error("an unknown architecture has a call")
	}
}

func TestPairSavedBeforeTheStackPointerMovesOnArm64(t *testing.T) {
	// sub x20,sp,#256; stp x29,x30,[x20,#-8]; mov sp,x20; sub x29,sp,#8; nop;
	// ldp x29,x30,[sp,#-8]; add sp,sp,#256; ret
	s := arm(true, 0xd10403f4, 0xa93ffa9d, 0x9100029f, 0xd10023fd, 0xd503201f, 0xa97ffbfd, 0x910403ff, 0xd65f03c0)
	for off, cfa := range map[uint64]frames.Rule{0: {CFAReg: frames.ARM64SP}, 4: {CFAReg: 20, CFAOff: 256}} {
		r, row, ok := s.Rule(frames.Query{PC: base + off})
		if !ok || r.CFAReg != cfa.CFAReg || r.CFAOff != cfa.CFAOff || row != nil && row.RA.Kind != frames.RuleSame ||
			row == nil && r.Flags&frames.FlagRAInLR == 0 {
			t.Errorf("+%d: %+v, %+v, %v; want the link register", off, r, row, ok)
		}
	}
}

// V8 loads r12 from a table at r13, which is not in the copied part of the stack. In code that keeps the ABI such a
// load shows that the path is no epilogue.
func TestLoadFromATableIsNotARestoredRegister(t *testing.T) {
	code := []byte{0x4d, 0x8b, 0x65, 0x50, 0x90, 0xc3} // mov r12, [r13+0x50]; nop; ret
	s := New(Options{Arch: frames.X86_64, JIT: true, Code: bytesCode{base, code}})
	r, row, ok := s.Rule(frames.Query{PC: base})
	if !ok || r.CFAReg != frames.X86RSP || row == nil || row.CFAOff != 8 ||
		row.Regs[frames.X86R12].Kind != frames.RuleUndefined {
		t.Errorf("JIT code: rule %+v, %+v, %v; want r12 unknown", r, row, ok)
	}
	if r, _, ok := intel(code...).Rule(frames.Query{PC: base}); ok {
		t.Errorf("code of other compilers: rule %+v, want none", r)
	}
	// mov rbx, [rsp]; mov r12, [rsp+8]; add rsp, 16; ret
	saved := intel(0x48, 0x8b, 0x1c, 0x24, 0x4c, 0x8b, 0x64, 0x24, 8, 0x48, 0x83, 0xc4, 16, 0xc3)
	want(t, saved, 0, frames.X86RSP, 24, frames.MethodHeuristic)
}

// V8's optimised code: test a flag, jump to a builtin if it is set; push rbp; mov rbp, rsp; only jumps follow.
func TestFrameOfGeneratedCodeIsFoundFromItsStart(t *testing.T) {
	code := []byte{
		0xf6, 0x43, 0x0f, 1, 0x74, 2, 0xff, 0xe1, // test byte [rbx+15], 1; je +2; jmp rcx
		0x50, 0x58, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xe1, // push rax; pop rax; push rbp; mov rbp, rsp; jmp rcx
	}
	s := New(Options{Arch: frames.X86_64, JIT: true, Code: bytesCode{base, code}})
	for off, cfa := range map[uint64]int64{0: 8, 4: 8, 8: 8, 9: 16, 10: 8, 11: 16} {
		r, row, ok := s.Rule(frames.Query{PC: base + off})
		if !ok || row == nil || row.CFAReg != frames.X86RSP || row.CFAOff != cfa {
			t.Errorf("+%d: rule %+v, %+v, %v; want rsp+%d", off, r, row, ok, cfa)
			continue
		}
		want := frames.RegRule{}
		if off == 11 {
			want = frames.RegRule{Kind: frames.RuleOffset, Off: -16}
		}
		if row.Regs[frames.X86RBP] != want {
			t.Errorf("+%d: rbp is %+v, want %+v", off, row.Regs[frames.X86RBP], want)
		}
	}
	for _, q := range []frames.Query{{PC: base + 14}, {PC: base + 8, AfterCall: true}} {
		if r, row, ok := s.Rule(q); ok {
			t.Errorf("query %+v: rule %+v, %+v; want none", q, r, row)
		}
	}
	if r, _, ok := intel(code...).Rule(frames.Query{PC: base}); ok {
		t.Errorf("code of other compilers: rule %+v, want none", r)
	}
}

func TestRegistersOfAPXAreNoSavedOnes(t *testing.T) {
	// mov rbx, rax; mov r19, [rbp-16]; leave; ret
	s := jitCode([]byte{0x48, 0x89, 0xc3, 0xd5, 0x48, 0x8b, 0x5d, 0xf0, 0xc9, 0xc3})
	a := s.analysis()
	defer a.free()
	v := a.searchEpilogues(base, false, everywhere, acceptedEnds{})
	if f, _ := v.best(); f == nil || f.calleeSaved[1] != lost {
		t.Errorf("frame %+v, want one without rbx", f)
	}
}

func TestRulesAreOfTheCodeAsItIsNow(t *testing.T) {
	code := &bytesCode{base, []byte{0x48, 0x83, 0xc4, 0x18, 0xc3}} // add rsp,24; ret
	s := New(Options{Arch: frames.X86_64, Code: code})
	for _, locals := range []byte{0x18, 0x28} {
		code.b[3] = locals
		if r, _, ok := s.Rule(frames.Query{PC: base}); !ok || r.CFAOff != int32(locals)+8 {
			t.Errorf("rule %+v, want rsp+%d", r, locals+8)
		}
	}
}
