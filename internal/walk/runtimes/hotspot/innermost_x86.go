// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
)

func (v *VM) ruleInMethod(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	if !b.isFrameComplete(pc) {
		return frames.Rule{}, nil, false
	}
	if v.inStaticCallStub(b, pc) {
		return framelessRule()
	}
	around := v.code(pc-aroundBytes, 2*aroundBytes)
	if rule, row, ok := v.ruleInOSREntry(b, around, pc); ok {
		return rule, row, true
	}
	switch {
	case len(around) <= aroundBytes:
		return frames.Rule{}, nil, false
	case inPollPiece(around, aroundBytes, b), jumpsToExceptionStub(around, b.end-pc):
		return framelessRule()
	case inDeoptPiece(around, aroundBytes, pc):
		return frameRule(8 * (b.frameWords + 1)), nil, true
	}
	if rule, row, ok := ruleInMethodsExceptionStub(around); ok {
		return rule, row, true
	}
	return v.ruleByReturnPath(b, pc)
}

// ruleInOSREntry follows the path from an entry for on-stack replacement. around begins aroundBytes before pc.
func (v *VM) ruleInOSREntry(b *blob, around []byte, pc uint64) (frames.Rule, *frames.Row, bool) {
	for off := range min(aroundBytes+1, len(around)) {
		if !beginsOSREntry(around[off:], 8*b.frameWords) {
			continue
		}
		entry := pc - aroundBytes + uint64(off)
		if r, ok := v.analysis.ReturnAddress(pc, entry, b.end); ok && r.Entry == entry {
			return ruleAtPlace(r.RA, r.Reg, r.Off)
		}
	}
	return frames.Rule{}, nil, false
}

func (b *blob) isFrameComplete(pc uint64) bool {
	return b.frameWords > 0 && b.completeAt >= 0 && pc >= b.begin+uint64(b.completeAt)
}

func (v *VM) inCallStub(b *blob, pc uint64) bool {
	if v.isARM64() {
		return pc%insnBytes == 0 && v.around(b.begin, b.end, pc).inCallStub(pc)
	}
	return b.isFrameComplete(pc) && v.inStaticCallStub(b, pc)
}

// inStaticCallStub recognizes a static call stub after a method (CompiledStaticCall, to_interp_stub), frameless: mov
// rbx, imm64; jmp.
func (v *VM) inStaticCallStub(b *blob, pc uint64) bool {
	const load = 10
	code := v.code(pc-load, 2*load+5)
	if len(code) < 2*load+5 {
		return false
	}
	jump := code[load:]
	switch {
	case bytes.HasPrefix(jump, movRBX) && jump[load] == opJump:
		jump, pc = jump[load:], pc+load
	case jump[0] != opJump || !bytes.HasPrefix(code, movRBX):
		return false
	}
	to := pc + 5 + uint64(int64(int32At(jump[1:])))
	return to < b.begin || to >= b.end || to == pc // to itself: unlinked
}

// ruleInMethodHandleAdapter is for an adapter of MethodHandles::generate_method_handle_dispatch, which may remove an
// argument.
func (v *VM) ruleInMethodHandleAdapter(pc uint64) (frames.Rule, *frames.Row, bool) {
	if around := v.code(pc-2, 4); len(around) == 4 && (removesArgument(around) || removesArgument(around[1:])) {
		return ruleRAInReg(frames.X86RAX, frames.X86R13, 0)
	}
	return ruleRAAtSP(frames.X86R13, 0, frames.MethodHeuristic)
}

// removesArgument matches pop rax; pop reg; push rax.
func removesArgument(code []byte) bool {
	return code[0] == opPop && code[1]&^7 == opPop && code[2] == opPush
}

func (v *VM) ruleInInterpreter(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	c, ok := v.codeletAt(b, pc)
	if !ok {
		return frames.Rule{}, nil, false
	}
	switch rule, row, ok, found := v.ruleInRemoval(&c, pc); {
	case found:
		return rule, row, ok
	case c.entry:
		return v.ruleInEntry(&c, pc)
	}
	return interpretedRule()
}

// ruleInExceptionStub is for the stub that finds a handler, with the return address in rdx:
//
//	push rdx; sub rsp, 8; mov [rsp], rbp; ...; mov rbp, [rsp]; add rsp, 8; pop rdx; ...; jmp
func (v *VM) ruleInExceptionStub(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(b.begin, b.end-b.begin)
	leaves := bytes.Index(code, exceptionEnds)
	if !bytes.HasPrefix(code, exceptionBegins) || leaves < 0 || b.frameWords <= 0 {
		return frames.Rule{}, nil, false
	}
	popped := leaves + len(exceptionEnds)
	switch off := int(pc - b.begin); {
	case off == 0, off >= popped:
		return ruleRAInReg(frames.X86RDX, frames.X86RSP, 0)
	case off == 1, off == popped-1:
		return framelessRule()
	case off < len(exceptionBegins):
		return ruleRABelowCFA(16, frames.RegRule{})
	}
	return frameRule(8 * b.frameWords), nil, true
}

// ruleInEntry is for a method entry:
//
//	...                  return address at sp, caller's sp in r13
//	pop rax              in rax; locals are pushed
//	lea r14, [...]
//	...
//	push rax             at sp
//	push rbp
//	mov rbp, rsp
//	push r13             frame complete
//
// Intrinsics have no frame.
func (v *VM) ruleInEntry(c *codelet, pc uint64) (frames.Rule, *frames.Row, bool) {
	prologue := bytes.Index(v.code(c.begin, c.end-c.begin), interpreterPrologue)
	pushes := int(pc-c.begin) - (prologue - 1) // since push rax
	switch {
	case prologue <= 0 || pushes <= 0:
		return v.ruleBeforePrologue(c, pc, prologue > 0)
	case pushes == 1:
		return ruleRAAtSP(frames.X86R13, 0, frames.MethodCFI)
	case pushes == 2:
		return ruleRAAtSP(frames.X86R13, 8, frames.MethodCFI)
	case pushes <= len(interpreterPrologue)-1: // rbp is set, r13 not stored
		row := callerRow(frames.X86R13, 0)
		row.RA, row.Regs[frames.X86RBP] = interpreted.RA, interpreted.Regs[frames.X86RBP]
		return byRow(row, frames.MethodCFI)
	}
	return interpretedRule()
}

// ruleBeforePrologue follows the path from the entry, where the caller's sp is in r13.
func (v *VM) ruleBeforePrologue(c *codelet, pc uint64, makesFrame bool) (frames.Rule, *frames.Row, bool) {
	r, _ := v.analysis.ReturnAddress(pc, c.begin, c.end)
	switch {
	case r.Moved:
		return ruleAtPlace(r.RA, r.Reg, r.Off)
	case r.RA.Kind != frames.RuleSame:
		return ruleAtPlace(r.RA, frames.X86R13, 0)
	}
	rule, row, _ := ruleRAAtSP(frames.X86R13, 0, frames.MethodHeuristic) // or popped, to throw
	return rule, row, makesFrame
}

// ruleInAdapter follows the path from the adapter's entry. To compiled code (sharedRuntime_x86_64.cpp,
// gen_i2c_adapter):
//
//	mov rax, [rsp]; mov r11, rsp; sub rsp, ...; and rsp, -16; push rax; ...; jmp r11
//	mov r11, rsp; pop rax; sub rsp, ...; and rsp, -16; push rax; ...; jmp r11            since JDK 21
//
// To the interpreter, after checks and calls (gen_c2i_adapter):
//
//	pop rax; mov r13, rsp; sub rsp, ...; push rax or mov [rsp], rax; ...; jmp
//	lea r13, [rsp + 8]; pop rax; sub rsp, ...; push rax; ...; jmp                        since JDK 21
func (v *VM) ruleInAdapter(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	r, ok := v.analysis.ReturnAddress(q.PC, b.begin, b.end)
	if !ok || q.SPOnly && (r.Reg != frames.X86RSP || r.RA.Kind == frames.RuleRegOffset && r.RA.Reg != frames.X86RSP) {
		return frames.Rule{}, nil, false
	}
	row := callerRow(r.Reg, int32(r.Off))
	row.RA = r.RA
	return byRow(row, frames.MethodCFI)
}

const regR11 = 11 // DWARF number

func (v *VM) ruleInForwardException(ret uint64) (frames.Rule, bool) {
	code := v.code(ret, maxForward)
	size := int32(8)
	switch {
	case !bytes.Contains(code, forwardsEnds):
		return frames.Rule{}, false
	case bytes.HasPrefix(code, forwardsAligned):
		size = 16
	case !bytes.HasPrefix(code, forwards):
		return frames.Rule{}, false
	}
	r := frameRule(size)
	r.Saved[0] = 0
	return r, true
}
