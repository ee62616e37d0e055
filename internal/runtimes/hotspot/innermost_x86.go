package hotspot

import (
	"bytes"

	"prywalk/frames"
)

// called is the rule where the return address is the word at sp, and the CFA is given by a register: the stack pointer
// that a method's caller had, which r13 holds when the interpreter or an adapter begins.
func called(cfa uint8, off int32, m frames.Method) (frames.Rule, *frames.Row, bool) {
	r := frames.Rule{CFAReg: cfa, CFAOff: off, Method: m}
	if cfa == frames.X86RSP && off == 8 {
		return r, nil, true
	}
	row := byCaller(cfa, off)
	row.RA = frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RSP}
	return r, row, true
}

// byCaller is a row with that CFA, and the caller's rbp still in its place.
func byCaller(cfa uint8, off int32) *frames.Row {
	row := &frames.Row{CFAReg: cfa, CFAOff: int64(off)}
	for _, r := range [...]uint8{frames.X86RBX, frames.X86R12, frames.X86R13, frames.X86R14, frames.X86R15} {
		row.Regs[r].Kind = frames.RuleUndefined
	}
	return row
}

// inReg is the rule while the return address is in a register.
func inReg(reg, cfa uint8, off int32) (frames.Rule, *frames.Row, bool) {
	row := byCaller(cfa, off)
	row.RA = frames.RegRule{Kind: frames.RuleReg, Reg: reg}
	return frames.Rule{CFAReg: cfa, CFAOff: off, Method: frames.MethodCFI}, row, true
}

// inMethod gives the rule of a method that a thread is at pc of. The start, where the frame is made, is
// left to the analysis of the instructions.
func (v *VM) inMethod(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	if b.frame <= 0 || b.complete < 0 || pc < b.begin+uint64(b.complete) {
		return frames.Rule{}, nil, false
	}
	if v.goesOn(b, pc) {
		return called(frames.X86RSP, 8, frames.MethodCFI)
	}
	all := v.code(pc-uint64(len(overReturn)), uint64(len(overReturn))+maxEnd)
	if len(all) <= len(overReturn) {
		return frames.Rule{}, nil, false
	}
	before, code := all[:len(overReturn)], all[len(overReturn):]
	if at, taken := handedOn(before, code); taken {
		return inReg(frames.X86RDX, frames.X86RSP, 0)
	} else if at == endPop {
		return framed(16), nil, true
	} else if at == endPopped || handsOn(before, code, b.end-pc) {
		return called(frames.X86RSP, 8, frames.MethodCFI)
	}
	switch ending(code, before[len(before)-1], b.end-pc) {
	case endPopped:
		return called(frames.X86RSP, 8, frames.MethodCFI)
	case endPop:
		return framed(16), nil, true
	}
	return v.balanced(b, pc, 8*(b.frame+pushed(code)))
}

// goesOn reports whether pc is in one of the pieces behind a method by which its calls reach what they call: mov rbx,
// imm64; jmp (CompiledStaticCall, to_interp_stub). They have no frame.
func (v *VM) goesOn(b *blob, pc uint64) bool {
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
	return to < b.begin || to >= b.end || to == pc // not set yet: to itself
}

// inHandles gives the rule in an adapter for method handles. One takes an argument from below the return address: pop
// rax; pop reg; push rax (MethodHandles::generate_method_handle_dispatch). What is found elsewhere is checked.
func (v *VM) inHandles(pc uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(pc-2, 4)
	if len(code) == 4 && (code[1] == opPopRAX && code[2]&^7 == opPop && code[3] == opPushRAX ||
		code[0] == opPopRAX && code[1]&^7 == opPop && code[2] == opPushRAX) {
		return inReg(frames.X86RAX, frames.X86R13, 0)
	}
	return called(frames.X86R13, 0, frames.MethodHeuristic)
}

// inInterpreter gives the rule of a thread in the interpreter: where methods begin, its frame is made on the
// way, and where they end, it is given up.
func (v *VM) inInterpreter(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	c, ok := v.codeletAt(b, pc)
	if !ok {
		return frames.Rule{}, nil, false
	}
	code := v.code(pc-leftBytes, 2*leftBytes)
	if len(code) < leftBytes+1 {
		return frames.Rule{}, nil, false
	}
	switch l := left(code); {
	case !l.found && c.entry:
		return v.inEntry(&c, pc)
	case !l.found:
		return frames.Rule{CFAReg: frames.X86RBP, Method: frames.MethodCFI}, &interpreted, true
	case !l.whole:
		return frames.Rule{}, nil, false
	case l.since <= l.pops:
		return called(l.sender, 0, frames.MethodCFI)
	case l.since <= l.moves:
		return inReg(l.reg, l.sender, 0)
	default:
		return inReg(l.reg, frames.X86RSP, 0)
	}
}

// inException gives the rule in the stub that compiled code jumps to, to have the handler of an exception found; the
// return address is in rdx:
//
//	push rdx; sub rsp, 8; mov [rsp], rbp; ...; mov rbp, [rsp]; add rsp, 8; pop rdx; ...; jmp
func (v *VM) inException(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(b.begin, b.end-b.begin)
	leaves := bytes.Index(code, exceptionEnds)
	if !bytes.HasPrefix(code, exceptionBegins) || leaves < 0 || b.frame <= 0 {
		return frames.Rule{}, nil, false
	}
	popped := leaves + len(exceptionEnds)
	switch at := int(pc - b.begin); {
	case at == 0, at >= popped:
		return inReg(frames.X86RDX, frames.X86RSP, 0)
	case at == 1, at == popped-1:
		return called(frames.X86RSP, 8, frames.MethodCFI)
	case at < len(exceptionBegins):
		row := byCaller(frames.X86RSP, 16)
		row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
		return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 16, Method: frames.MethodCFI}, row, true
	}
	return framed(8 * b.frame), nil, true
}

// inEntry gives the rule in the code that interpreted methods begin with:
//
//	...                  the return address is at sp, the caller's sp in r13
//	pop rax              it is in rax, and local variables are pushed
//	lea r14, [...]
//	...
//	push rax             at sp again
//	push rbp
//	mov rbp, rsp
//	push r13             the frame is there
func (v *VM) inEntry(c *codelet, pc uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(c.begin, c.end-c.begin)
	made := bytes.Index(code, entered)
	pops := -1
	if made > 0 {
		pops = bytes.LastIndex(code[:made], popThenLocals)
	}
	if pops < 0 { // a method that the interpreter knows: there is no frame
		if rest := code[pc-c.begin:]; knownEnd(rest) {
			return inReg(dwarfNumbers[rest[4]&7], frames.X86R13, 0)
		}
		if at := pc - c.begin; at >= 3 && knownEnd(code[at-3:]) {
			return inReg(dwarfNumbers[code[at+1]&7], frames.X86RSP, 0)
		}
		if rest := code[pc-c.begin:]; bytes.Contains(code[:pc-c.begin], subSP8) && !(len(rest) > 0 && rest[0]&^7 == opPop && knownEnd(rest[1:])) {
			return frames.Rule{}, nil, false // JDK 8 computes on the stack
		}
		return called(frames.X86R13, 0, frames.MethodHeuristic)
	}
	pushes := int(pc-c.begin) - (made - 1) // bytes behind the push of rax
	switch at := int(pc - c.begin); {
	case at <= pops:
		return called(frames.X86R13, 0, frames.MethodHeuristic) // or in a path that has popped it, to throw
	case pushes <= 0:
		return inReg(frames.X86RAX, frames.X86R13, 0)
	case pushes == 1:
		return called(frames.X86R13, 0, frames.MethodCFI)
	case pushes == 2:
		row := byCaller(frames.X86R13, 0)
		row.RA = frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RSP, Off: 8}
		return frames.Rule{CFAReg: frames.X86R13, Method: frames.MethodCFI}, row, true
	case pushes <= len(entered)-1: // rbp is set, r13 not yet stored
		row := byCaller(frames.X86R13, 0)
		row.RA, row.Regs[frames.X86RBP] = interpreted.RA, interpreted.Regs[frames.X86RBP]
		return frames.Rule{CFAReg: frames.X86R13, Method: frames.MethodCFI}, row, true
	}
	return frames.Rule{CFAReg: frames.X86RBP, Method: frames.MethodCFI}, &interpreted, true
}

// inAdapter gives the rule in an adapter. From the interpreter to compiled code:
//
//	mov rax, [rsp]; mov r11, rsp; and rsp, -16; push rax; ...; jmp r11
//	mov r11, rsp; pop rax; and rsp, -16; push rax; ...; jmp r11                  since JDK 25
//
// From compiled code to the interpreter, behind a check and, now and then, a call that mends the caller:
//
//	pop rax; mov r13, rsp; sub rsp, ...; push rax or mov [rsp], rax; ...; jmp
func (v *VM) inAdapter(b *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	code := v.code(b.begin, b.end-b.begin)
	at := int(pc - b.begin)
	first := bytes.Index(code, jumpR11)
	old := bytes.HasPrefix(code, toCompiled)
	if first < 0 || !old && !bytes.HasPrefix(code, toCompiled25) {
		return frames.Rule{}, nil, false
	}
	switch {
	case old && at == len(toCompiled)-1, !old && (at == len(toCompiled25)-1 || at == 4): // popped, or sp was aligned
		return inReg(frames.X86RAX, regR11, 8)
	case at <= first:
		return called(frames.X86RSP, 8, frames.MethodCFI)
	}
	checked := bytes.Index(code[first:], movR13SP)
	pops := bytes.LastIndex(code, toInterpreter)
	if checked < 0 || pops < first {
		return frames.Rule{}, nil, false
	}
	stores, known := storesRAX(code, pops+len(toInterpreter))
	switch {
	case at <= first+checked-1:
		return called(frames.X86RSP, 8, frames.MethodHeuristic)
	case at < pops && at >= first+bytes.LastIndex(code[first:pops], movSPR13)+len(movSPR13) && bytes.Contains(code[first:pops], movSPR13):
		return called(frames.X86RSP, 8, frames.MethodHeuristic) // the caller is mended
	case at < pops || !known:
		return frames.Rule{}, nil, false
	case at == pops:
		return called(frames.X86RSP, 8, frames.MethodCFI)
	case at == pops+1:
		return inReg(frames.X86RAX, frames.X86RSP, 0)
	case at <= stores:
		return inReg(frames.X86RAX, frames.X86R13, 0)
	}
	return called(frames.X86R13, 0, frames.MethodCFI)
}

// storesRAX gives the place of the instruction that puts the return address back, if it is the one at that place or
// the one behind a sub rsp.
func storesRAX(code []byte, at int) (int, bool) {
	switch {
	case bytes.HasPrefix(code[at:], subSP8):
		at += len(subSP8) + 1
	case bytes.HasPrefix(code[at:], subSP32):
		at += len(subSP32) + 4
	}
	rest := code[min(at, len(code)):]
	return at, bytes.HasPrefix(rest, movTopRAX) || len(rest) > 0 && rest[0] == opPushRAX
}

// regR11 is r11 by its DWARF number (System V ABI, figure 3.36).
const regR11 = 11

// inForward gives the rule at the return address in the stub that hands an exception on.
func (v *VM) inForward(ret uint64) (frames.Rule, *frames.Row, bool) {
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
	r := framed(size)
	r.Saved[0] = 0
	return r, nil, true
}
