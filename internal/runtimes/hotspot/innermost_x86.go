// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
)

// atEntry is the rule with the return address at sp and CFA = register + off. r13 has the caller's sp at the start of
// interpreter code and adapters.
func atEntry(cfa uint8, off int32, m frames.Method) (frames.Rule, *frames.Row, bool) {
	r := frames.Rule{CFAReg: cfa, CFAOff: off, Method: m}
	if cfa == frames.X86RSP && off == 8 {
		return r, nil, true
	}
	row := callerRow(cfa, off)
	row.RA = frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RSP}
	return r, row, true
}

// callerRow keeps rbp and loses the other callee-saved registers.
func callerRow(cfa uint8, off int32) *frames.Row {
	row := &frames.Row{CFAReg: cfa, CFAOff: int64(off)}
	for _, r := range [...]uint8{frames.X86RBX, frames.X86R12, frames.X86R13, frames.X86R14, frames.X86R15} {
		row.Regs[r].Kind = frames.RuleUndefined
	}
	return row
}

func raInReg(reg, cfa uint8, off int32) (frames.Rule, *frames.Row, bool) {
	row := callerRow(cfa, off)
	if cfa != frames.X86RSP {
		row.CFAExpr = sendersSP{cfa, off}
	}
	row.RA = frames.RegRule{Kind: frames.RuleReg, Reg: reg}
	return frames.Rule{CFAReg: cfa, CFAOff: off, Method: frames.MethodCFI}, row, true
}

// sendersSP computes the CFA from the caller's sp after the return address is popped. A method handle adapter moves the
// return address up a word, but only for an interpreted caller, which needs no sp.
type sendersSP struct {
	reg uint8
	off int32
}

// Eval implements [frames.Expr].
func (e sendersSP) Eval(regs *frames.Regs, _ frames.Memory, _ uint64) (uint64, bool) {
	sender, ok := regs.Get(e.reg)
	sp, known := regs.Get(frames.X86RSP)
	if sender += uint64(int64(e.off)); sp-sender == 8 {
		sender = sp
	}
	return sender, ok && known
}

// inMethod gives the rule in a compiled method, except where its frame is made.
func (v *VM) inMethod(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	if b.frameWords <= 0 || b.completeAt < 0 || pc < b.begin+uint64(b.completeAt) {
		return frames.Rule{}, nil, false
	}
	if v.inStaticCallStub(b, pc) {
		return atEntry(frames.X86RSP, 8, frames.MethodCFI)
	}
	around := v.code(pc-aroundBytes, 2*aroundBytes)
	switch state := osrFrameState(around, aroundBytes, 8*b.frameWords); {
	case state == frameNone || state == frameOpen && inPollPiece(around, aroundBytes, b):
		return atEntry(frames.X86RSP, 8, frames.MethodCFI)
	case state == framePushed:
		return frameRule(16), nil, true
	case state == frameBare:
		return raBelowCFA(8*b.frameWords, frames.RegRule{})
	case inDeoptPiece(around, aroundBytes, pc):
		return frameRule(8 * (b.frameWords + 1)), nil, true
	}
	all := v.code(pc-uint64(len(jneOverReturn)), uint64(len(jneOverReturn))+maxEpilogue)
	if len(all) <= len(jneOverReturn) {
		return frames.Rule{}, nil, false
	}
	before, code := all[:len(jneOverReturn)], all[len(jneOverReturn):]
	if at, taken := inExceptionStub(before, code); taken {
		return raInReg(frames.X86RDX, frames.X86RSP, 0)
	} else if at == epiloguePopRBP {
		return frameRule(16), nil, true
	} else if at == epilogueAfterPop || jumpsToExceptionStub(before, code, b.end-pc) {
		return atEntry(frames.X86RSP, 8, frames.MethodCFI)
	}
	switch epilogueOf(code, before[len(before)-1], b.end-pc) {
	case epilogueAfterPop:
		return atEntry(frames.X86RSP, 8, frames.MethodCFI)
	case epiloguePopRBP:
		return frameRule(16), nil, true
	}
	return v.byReturnPath(b, pc, 8*(b.frameWords+wordsPushed(code)))
}

func (v *VM) inCallStub(b *blob, pc uint64) bool {
	if v.a64 != nil {
		return v.a64.InCallStub(b.piece(), pc)
	}
	return b.frameWords > 0 && b.completeAt >= 0 && pc >= b.begin+uint64(b.completeAt) && v.inStaticCallStub(b, pc)
}

// inStaticCallStub reports whether pc is in a static call stub after a method (CompiledStaticCall, to_interp_stub),
// frameless: mov rbx, imm64; jmp.
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

// inMethodHandleAdapter gives the rule in a method handle adapter (MethodHandles::generate_method_handle_dispatch),
// which may remove an argument: pop rax; pop reg; push rax.
func (v *VM) inMethodHandleAdapter(pc uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(pc-2, 4)
	if len(code) == 4 && (code[1] == opPopRAX && code[2]&^7 == opPop && code[3] == opPushRAX ||
		code[0] == opPopRAX && code[1]&^7 == opPop && code[2] == opPushRAX) {
		return raInReg(frames.X86RAX, frames.X86R13, 0)
	}
	return atEntry(frames.X86R13, 0, frames.MethodHeuristic)
}

func (v *VM) inInterpreter(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	c, ok := v.codeletAt(b, pc)
	if !ok {
		return frames.Rule{}, nil, false
	}
	code := v.code(pc-removalBytes, 2*removalBytes)
	if len(code) < removalBytes+1 {
		return frames.Rule{}, nil, false
	}
	l := lastRemoval(code)
	if !l.whole {
		if rule, row, throws := v.inExceptionRemoval(pc); throws {
			return rule, row, row != nil
		}
	}
	switch {
	case !l.found && c.entry:
		return v.inEntry(&c, pc)
	case !l.found:
		return frames.Rule{CFAReg: frames.X86RBP, Method: frames.MethodCFI}, &interpreted, true
	case !l.whole:
		return frames.Rule{}, nil, false
	case l.since <= l.pops:
		return atEntry(l.sender, 0, frames.MethodCFI)
	case l.since <= l.moves:
		return raInReg(l.reg, l.sender, 0)
	default:
		return raInReg(l.reg, frames.X86RSP, 0)
	}
}

// inExceptionRemoval gives the rule where an exception removes an interpreter frame; a nil row is no rule.
func (v *VM) inExceptionRemoval(pc uint64) (rule frames.Rule, row *frames.Row, throws bool) {
	t, throws := exceptionRemoval(v.code(pc-throwBytes, 2*throwBytes), throwBytes)
	switch {
	case !throws || t.words < 0:
		return rule, nil, throws
	case t.stored && t.sender != 0:
		rule, row, _ = atEntry(t.sender, 0, frames.MethodCFI)
	case t.stored:
		row = callerRow(frames.X86RSP, int32(8*t.words))
		row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -16}
		rule = frames.Rule{CFAReg: frames.X86RSP, CFAOff: int32(8 * t.words), Method: frames.MethodCFI}
	case t.sender != 0:
		rule, row, _ = raInReg(frames.X86RDX, t.sender, 0)
	default:
		rule, row, _ = raInReg(frames.X86RDX, frames.X86RSP, int32(8*t.words))
	}
	return rule, row, true
}

// inException gives the rule in the stub that finds a handler, with the return address in rdx:
//
//	push rdx; sub rsp, 8; mov [rsp], rbp; ...; mov rbp, [rsp]; add rsp, 8; pop rdx; ...; jmp
func (v *VM) inException(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(b.begin, b.end-b.begin)
	leaves := bytes.Index(code, exceptionEnds)
	if !bytes.HasPrefix(code, exceptionBegins) || leaves < 0 || b.frameWords <= 0 {
		return frames.Rule{}, nil, false
	}
	popped := leaves + len(exceptionEnds)
	switch at := int(pc - b.begin); {
	case at == 0, at >= popped:
		return raInReg(frames.X86RDX, frames.X86RSP, 0)
	case at == 1, at == popped-1:
		return atEntry(frames.X86RSP, 8, frames.MethodCFI)
	case at < len(exceptionBegins):
		row := callerRow(frames.X86RSP, 16)
		row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
		return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 16, Method: frames.MethodCFI}, row, true
	}
	return frameRule(8 * b.frameWords), nil, true
}

// inEntry gives the rule in a method entry of the interpreter:
//
//	...                  return address at sp, caller's sp in r13
//	pop rax              in rax; locals are pushed
//	lea r14, [...]
//	...
//	push rax             at sp
//	push rbp
//	mov rbp, rsp
//	push r13             frame complete
func (v *VM) inEntry(c *codelet, pc uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(c.begin, c.end-c.begin)
	switch rest := code[min(pc-c.begin, uint64(len(code))):]; {
	case isIntrinsicEnd(rest):
		return raInReg(dwarfNumbers[rest[4]&7], frames.X86R13, 0)
	case len(rest) > 1 && pc-c.begin >= 3 && isIntrinsicEnd(code[pc-c.begin-3:]):
		return raInReg(dwarfNumbers[rest[1]&7], frames.X86RSP, 0)
	}
	prologue := bytes.Index(code, interpreterPrologue)
	pops := -1
	if prologue > 0 {
		pops = bytes.LastIndex(code[:prologue], popRAXLeaR14)
	}
	if pops < 0 {
		return v.inIntrinsic(c, pc)
	}
	pushes := int(pc-c.begin) - (prologue - 1)
	switch at := int(pc - c.begin); {
	case at <= pops:
		if rule, row, ok := v.inIntrinsic(c, pc); ok {
			return rule, row, ok
		}
		return atEntry(frames.X86R13, 0, frames.MethodHeuristic) // or popped, to throw
	case pushes <= 0:
		return raInReg(frames.X86RAX, frames.X86R13, 0)
	case pushes == 1:
		return atEntry(frames.X86R13, 0, frames.MethodCFI)
	case pushes == 2:
		row := callerRow(frames.X86R13, 0)
		row.RA = frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RSP, Off: 8}
		return frames.Rule{CFAReg: frames.X86R13, Method: frames.MethodCFI}, row, true
	case pushes <= len(interpreterPrologue)-1: // rbp is set, r13 not stored
		row := callerRow(frames.X86R13, 0)
		row.RA, row.Regs[frames.X86RBP] = interpreted.RA, interpreted.Regs[frames.X86RBP]
		return frames.Rule{CFAReg: frames.X86R13, Method: frames.MethodCFI}, row, true
	}
	return frames.Rule{CFAReg: frames.X86RBP, Method: frames.MethodCFI}, &interpreted, true
}

// inIntrinsic gives the rule in an intrinsic, with the caller's sp in r13.
func (v *VM) inIntrinsic(c *codelet, pc uint64) (frames.Rule, *frames.Row, bool) {
	if v.o.Analysis == nil {
		return frames.Rule{}, nil, false
	}
	r, ok := v.o.Analysis.ReturnAddress(pc, c.begin, c.end)
	if !ok || r.RA.Kind == frames.RuleReg {
		return frames.Rule{}, nil, false
	}
	row := callerRow(frames.X86R13, 0)
	row.RA = r.RA
	return frames.Rule{CFAReg: frames.X86R13, Method: frames.MethodHeuristic}, row, true
}

// inAdapter gives the rule in an adapter by the path from its entry. To compiled code (sharedRuntime_x86_64.cpp,
// gen_i2c_adapter):
//
//	mov rax, [rsp]; mov r11, rsp; sub rsp, ...; and rsp, -16; push rax; ...; jmp r11
//	mov r11, rsp; pop rax; sub rsp, ...; and rsp, -16; push rax; ...; jmp r11            since JDK 21
//
// To the interpreter, after checks and calls (gen_c2i_adapter):
//
//	pop rax; mov r13, rsp; sub rsp, ...; push rax or mov [rsp], rax; ...; jmp
//	lea r13, [rsp + 8]; pop rax; sub rsp, ...; push rax; ...; jmp                        since JDK 21
func (v *VM) inAdapter(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	if v.o.Analysis == nil {
		return frames.Rule{}, nil, false
	}
	r, ok := v.o.Analysis.ReturnAddress(q.PC, b.begin, b.end)
	if !ok || q.SPOnly && (r.Reg != frames.X86RSP || r.RA.Kind == frames.RuleRegOffset && r.RA.Reg != frames.X86RSP) {
		return frames.Rule{}, nil, false
	}
	row := callerRow(r.Reg, int32(r.Off))
	row.RA = r.RA
	return frames.Rule{CFAReg: r.Reg, CFAOff: int32(r.Off), Method: frames.MethodCFI}, row, true
}

const regR11 = 11 // DWARF number

func (v *VM) inForwardException(ret uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(ret, maxForward)
	size := int32(8)
	switch {
	case !bytes.Contains(code, forwardsEnds):
		return frames.Rule{}, nil, false
	case bytes.HasPrefix(code, forwardsAligned):
		size = 16
	case !bytes.HasPrefix(code, forwards):
		return frames.Rule{}, nil, false
	}
	r := frameRule(size)
	r.Saved[0] = 0
	return r, nil, true
}
