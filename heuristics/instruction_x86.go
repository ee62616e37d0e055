// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/internal/code/x86"

// Instructions are exact for stack pointer, frame pointer, registers saved and restored by whole words, and control
// flow. Of others only the registers written count ([x86.Inst.WrittenRegs]). A mov to memory of 16 or 32 bits, or of an
// immediate, makes the slot at its address unknown. Other writes to memory leave slots alone, as compilers save no
// registers by them: pop, arithmetic, xchg, stores of vectors or bytes.

// Hardware numbers.
const (
	hwAX = 0
	hwCX = 1
	hwDX = 2
	hwBX = 3
	hwSP = 4
	hwBP = 5
	hwSI = 6
	hwDI = 7
)

// rax, rcx, rdx, rsi, rdi, r8–r11 (System V ABI, figure 3.4)
const scratchX86 = 1<<hwAX | 1<<hwCX | 1<<hwDX | 1<<hwSI | 1<<hwDI | 0xf<<8

var abiX86 = abi{
	sp: hwSP, fp: hwBP, ra: noReg, entry: 8, scratch: scratchX86,
	calleeSaved: []uint8{hwBP, hwBX, 12, 13, 14, 15},
	step:        stepX86,
	dwarf:       dwarfX86,
	afterPush:   afterPushX86,
	callBefore:  callBeforeX86,
	endsInJump:  endsInJumpX86,
	syscall:     []byte{0x0f, 0x05}, syscallReg: hwAX, exit: 60, exitGroup: 231, // arch/x86/entry/syscalls/syscall_64.tbl
	sigreturnForms: sigreturnX86, signalRow: signalRowX86,
}

// dwarfX86 converts a hardware register number (System V ABI, figure 3.36).
func dwarfX86(reg uint8) uint8 {
	if reg < 16 {
		return x86.DWARF[reg]
	}
	return reg
}

func afterPushX86(in *interpreter, pc uint64) bool {
	if pc < 6 {
		return false
	}
	b := in.code(pc - 6)
	return len(b) >= 2 && b[0] == 0xff && b[1] == 0x35
}

func stepX86(st *symbolicState, code []byte, f *flow) {
	i, ok := x86.Decode(code)
	if !ok {
		*f = flow{kind: flowEnd, toReg: noReg}
		return
	}
	st.readCalleeSaved = st.readCalleeSaved || readsCalleeSavedX86(st, &i)
	cmpReg, pushedMem := st.cmpReg, st.pushedMem
	st.cmpReg, st.pushedMem = noReg, false
	*f = flow{size: i.Size, toReg: noReg}
	switch {
	case i.VEX:
		st.clobber(i.WrittenRegs())
		if i.Map == x86.MapAPX && (i.Op == 0x8f || i.Op == 0xff && i.Reg&7 == 6) {
			f.kind = flowEnd // pop2, push2
		}
	case isRetpolineX86(&i, code[i.Size:]):
		stepRetpolineX86(st, &i, code[i.Size:], f)
	case i.Map == x86.MapOne:
		stepOneByteX86(st, &i, f, cmpReg, pushedMem)
	case i.Map == x86.Map0F:
		stepTwoByteX86(st, &i, f, cmpReg)
	default:
		st.clobber(i.WrittenRegs())
	}
}

func stepOneByteX86(st *symbolicState, i *x86.Inst, f *flow, cmpReg uint8, pushedMem bool) {
	switch op := i.Op; {
	case op >= 0x50 && op < 0x60, op == 0x68, op == 0x6a, op == 0x8f, op >= 0x9c && op <= 0x9d: // push, pop, pushf, popf
		stepStackX86(st, i, f)
	case op >= 0x70 && op < 0x80, op >= 0xe0 && op < 0xe4: // jcc, loop, jrcxz
		stepBranchX86(st, i, f, cmpReg)
	case op >= 0xe8 && op <= 0xeb, op == 0xc2, op == 0xc3, op == 0xff: // call, jmp, ret, group 5
		stepControlX86(st, i, f, pushedMem)
	case op == 0xc8, op == 0xc9: // enter, leave
		stepFrameX86(st, i)
	case op == 0xcc, op == 0xf4, op == 0xf1, op == 0xca, op == 0xcb, op == 0xcf, op == 0xcd && i.Imm != -0x80:
		f.kind, f.trap = flowEnd, op == 0xf4 // int3, hlt, int1, retf, iret, int but 0x80
	case op == 0x90 && !i.IsXchg(): // nop; with F3: pause
		f.padding = i.Prefix&x86.PrefixF3 == 0
	case op == 0x89, op == 0x8b, op == 0x8d, op >= 0xb8 && op < 0xc0, op == 0xc7: // mov, lea
		stepMoveX86(st, i)
	default:
		stepArithX86(st, i)
	}
}

func targetX86(st *symbolicState, i *x86.Inst) uint64 { return st.pc + uint64(i.Size) + uint64(i.Imm) }

func stepStackX86(st *symbolicState, i *x86.Inst, f *flow) {
	if i.Prefix&x86.Prefix66 != 0 {
		st.regs[hwSP] = value{}
	}
	switch op := i.Op; {
	case op < 0x58: // push
		st.push(hwSP, st.regs[i.OpcodeReg()])
	case op < 0x60: // pop
		stepPopX86(st, i.OpcodeReg())
	case op == 0x8f: // pop r/m
		stepPopX86(st, noReg)
		if i.Mod == 3 {
			st.set(i.RM, value{})
		}
	case op == 0x9d: // popf
		stepPopX86(st, noReg)
	case op == 0x68 || op == 0x6a: // push imm
		st.push(hwSP, value{kind: constant, off: int32(i.Imm)})
	default: // pushf
		st.push(hwSP, value{})
	}
}

func stepPopX86(st *symbolicState, reg uint8) {
	at := st.regs[hwSP]
	st.regs[hwSP] = at.plus(8)
	if reg != noReg {
		st.restore(reg, at)
	}
}

func stepFrameX86(st *symbolicState, i *x86.Inst) {
	if i.Op == 0xc9 { // leave, else enter
		st.regs[hwSP] = st.regs[hwBP]
		stepPopX86(st, hwBP)
		return
	}
	st.push(hwSP, st.regs[hwBP])
	st.regs[hwBP] = st.regs[hwSP]
	if level := i.Imm >> 16 & 0x1f; level != 0 {
		st.regs[hwSP] = value{}
		return
	}
	st.regs[hwSP] = st.regs[hwSP].plus(-(i.Imm & 0xffff))
}

// stepBranchX86 interprets jcc, loop and jrcxz. The instruction before has set cmpReg. Where "cmp rsp, cmpReg; jne"
// does not jump, both are equal: the end of a loop that allocates stack page by page.
func stepBranchX86(st *symbolicState, i *x86.Inst, f *flow, cmpReg uint8) {
	f.kind, f.target = flowCond, targetX86(st, i)
	if i.Op >= 0xe0 && i.Op < 0xe3 { // loop
		st.clobber(1 << hwCX)
	}
	jne := i.Op&0xf == 5 && i.Op >= 0x70 && i.Op < 0x90
	if jne && cmpReg != noReg && i.Imm < 0 {
		st.regs[hwSP] = st.regs[cmpReg]
	}
}

// stepControlX86 interprets call, jmp, ret and group 5. The instruction before has set pushedMem.
func stepControlX86(st *symbolicState, i *x86.Inst, f *flow, pushedMem bool) {
	switch i.Op {
	case 0xe8: // call
		if i.Imm == 0 { // a call of the next instruction pushes its address
			st.push(hwSP, value{})
			return
		}
		f.kind, f.target = flowCall, targetX86(st, i)
		st.clobber(scratchX86)
	case 0xe9, 0xeb: // jmp
		f.kind, f.target = flowJump, targetX86(st, i)
	case 0xc2, 0xc3: // ret
		// The return address may have been popped and pushed again behind dropped arguments (V8). One pushed from a
		// context (swapcontext) is not the caller's.
		sp := st.regs[hwSP]
		f.kind, f.ret = flowReturn, sp.plus(8)
		v := st.load(sp)
		if sp.kind == startRelative && v.kind == loaded && v.addend == 0 && (v.base == hwSP || v.base == hwBP) {
			f.ret = value{kind: startRelative, base: v.base, off: v.off}.plus(8)
		}
	case 0xff:
		stepGroup5X86(st, i, f, pushedMem)
	default:
		f.kind = flowEnd
	}
}

func stepGroup5X86(st *symbolicState, i *x86.Inst, f *flow, pushedMem bool) {
	switch i.Reg & 7 {
	case 0, 1:
		stepArithX86(st, i)
	case 2: // call
		f.kind = flowCall
		st.clobber(scratchX86)
	case 4: // jmp
		stepIndirectX86(st, i, f, pushedMem)
	case 6: // push
		v := value{}
		if i.Mod != 3 {
			// a saved stack pointer moves along with the stack; other words become unknown
			if at := st.load(addressX86(st, i)); at.kind == startRelative {
				v = at
			}
		}
		st.push(hwSP, v)
		st.pushedMem = i.RIPRel
	default:
		f.kind = flowEnd
	}
}

// stepIndirectX86 interprets an indirect jump. One through a fixed word is a tail call (PLT; its first entry has pushed
// two more words). So is one by r11 behind a release of stack (the dynamic linker's). One to a popped return address is
// a return. Others may use jump tables.
func stepIndirectX86(st *symbolicState, i *x86.Inst, f *flow, pushedMem bool) {
	sp := st.regs[hwSP]
	switch {
	case i.Mod == 3:
		f.toReg = i.RM
		target := st.regs[i.RM]
		wordBelowSP := target.kind == loaded && target.addend == 0 &&
			sp == value{kind: startRelative, base: target.base, off: target.off}.plus(8)
		switch {
		case wordBelowSP:
			f.kind, f.ret = flowReturn, sp
		case i.RM == 11 && st.releasedStack:
			f.kind, f.ret = flowTail, sp.plus(8)
		default:
			f.kind = flowIndirect
		}
	case i.RIPRel:
		if pushedMem {
			sp = sp.plus(16)
		}
		f.kind, f.ret = flowTail, sp.plus(8)
	default:
		f.kind = flowIndirect
	}
}

// isLandingX86 recognises endbr64.
func isLandingX86(i *x86.Inst) bool {
	return i.Map == x86.Map0F && i.Op == 0x1e && i.Prefix&x86.PrefixF3 != 0 && i.Mod == 3 && i.RM == 2 && i.Reg == 7
}

func stepTwoByteX86(st *symbolicState, i *x86.Inst, f *flow, cmpReg uint8) {
	switch op := i.Op; {
	case op >= 0x80 && op < 0x90: // jcc
		stepBranchX86(st, i, f, cmpReg)
	case op == 0x0b || op == 0xb9 || op == 0xff || op == 0x07 || op == 0x34 || op == 0x35:
		// ud2, ud1, ud0, sysret, sysenter, sysexit
		f.kind, f.trap = flowEnd, op == 0x0b
	case op == 0x1f || op == 0x0d: // nop, prefetch
		f.padding = true
	case isLandingX86(i):
		f.landing = true
	case op == 0xa0 || op == 0xa8: // push fs, gs
		st.push(hwSP, value{})
	case op == 0xa1 || op == 0xa9: // pop fs, gs
		stepPopX86(st, noReg)
	default:
		st.clobber(i.WrittenRegs())
	}
}

// readsCalleeSavedX86 reports a use of a callee-saved register's start value, other than to save it.
func readsCalleeSavedX86(st *symbolicState, i *x86.Inst) bool {
	if !i.HasRM {
		return false
	}
	if i.Base != noReg && i.Base != hwSP && isCalleeSavedAtStart(st, i.Base) ||
		i.Index != noReg && isCalleeSavedAtStart(st, i.Index) {
		return true
	}
	if i.Map != x86.MapOne || i.Mod != 3 {
		return false
	}
	if i.RM == i.Reg { // one register with itself: xor and sub clear it
		return i.Op == 0x85 && isCalleeSavedAtStart(st, i.RM) // test
	}
	switch i.Op {
	case 0x89: // mov r/m, reg
		return isCalleeSavedAtStart(st, i.Reg)
	case 0x8b: // mov reg, r/m
		return isCalleeSavedAtStart(st, i.RM)
	case 0x01, 0x03, 0x29, 0x2b, 0x39, 0x3b, 0x85: // add, sub, cmp, test
		return isCalleeSavedAtStart(st, i.RM) || isCalleeSavedAtStart(st, i.Reg)
	}
	return false
}

func isCalleeSavedAtStart(st *symbolicState, reg uint8) bool {
	return (reg == hwBP || reg == hwBX || reg >= 12 && reg < 16) && st.regs[reg].isStartValue(reg)
}

// addressX86 returns the address of the memory operand; unknown unless it is a tracked register plus a constant.
func addressX86(st *symbolicState, i *x86.Inst) value {
	if i.Base == noReg || i.Index != noReg || i.Prefix&(x86.PrefixSeg|x86.Prefix67) != 0 {
		return value{}
	}
	v := st.regs[i.Base]
	if v.kind != startRelative && v.kind != loaded {
		return value{}
	}
	return v.plus(int64(i.Disp))
}

// stepMoveX86 interprets mov (89, 8B, B8, C7) and lea (8D).
func stepMoveX86(st *symbolicState, i *x86.Inst) {
	switch op := i.Op; {
	case op == 0x8d && i.W:
		st.put(i.Reg, addressX86(st, i))
	case op == 0x8d:
		st.put(i.Reg, value{})
	case op >= 0xb8 && op < 0xc0: // mov reg, imm
		st.put(i.OpcodeReg(), constX86(i))
	case op == 0xc7 && i.Mod == 3:
		st.put(i.RM, constX86(i))
	case op == 0xc7: // mov mem, imm
		st.store(addressX86(st, i), value{})
	case i.Mod == 3: // mov reg, reg
		from, to := i.Reg, i.RM
		if op == 0x8b {
			from, to = to, from
		}
		v := value{}
		if i.W {
			v = st.regs[from]
		}
		st.put(to, v)
		st.detectForeignSP(to)
	case op == 0x89 && i.W:
		st.store(addressX86(st, i), st.regs[i.Reg])
	case op == 0x89:
		st.store(addressX86(st, i), value{})
	default:
		stepLoadX86(st, i)
	}
}

func constX86(i *x86.Inst) value {
	if i.Imm < 0 && !i.W || i.Imm != int64(int32(i.Imm)) {
		return value{}
	}
	return value{kind: constant, off: int32(i.Imm)}
}

func stepLoadX86(st *symbolicState, i *x86.Inst) {
	if loadsFromTableX86(i) {
		st.tableReg = i.Reg
	}
	at := addressX86(st, i)
	if !i.W || at.kind != startRelative || i.Reg == hwSP && at.base != hwSP && at.base != hwBP {
		st.put(i.Reg, value{})
		st.detectForeignSP(i.Reg)
		return
	}
	st.restore(i.Reg, at)
}

// loadsFromTableX86 recognises mov r, [table+r*8], where table is callee-saved (V8's r15).
func loadsFromTableX86(i *x86.Inst) bool {
	return i.Index != noReg && (i.Base == hwBX || i.Base >= 12 && i.Base < 16) && i.W && i.Prefix == 0
}

func stepArithX86(st *symbolicState, i *x86.Inst) {
	if !i.W || !i.HasRM {
		clobberX86(st, i.WrittenRegs())
		return
	}
	switch op := i.Op; {
	case op == 0x81 || op == 0x83:
		stepArithImmX86(st, i)
	case i.Mod != 3:
		clobberX86(st, i.WrittenRegs())
	case op == 0x01 || op == 0x29: // add, sub r/m, reg
		addToX86(st, i.RM, i.Reg, op == 0x29)
	case op == 0x03 || op == 0x2b: // add, sub reg, r/m
		addToX86(st, i.Reg, i.RM, op == 0x2b)
	case op == 0x39 && i.RM == hwSP: // cmp
		st.cmpReg = i.Reg
	case op == 0x3b && i.Reg == hwSP:
		st.cmpReg = i.RM
	case op == 0x39 && i.Reg == hwSP:
		st.cmpReg = i.RM
	default:
		clobberX86(st, i.WrittenRegs())
	}
}

func clobberX86(st *symbolicState, mask uint32) {
	st.clobber(mask)
	if mask&(1<<hwSP) != 0 {
		st.regs[hwSP] = st.newUnnamedBase()
	}
}

func addToX86(st *symbolicState, to, from uint8, negative bool) {
	v := value{}
	if n := st.regs[from]; n.kind == constant {
		off := int64(n.off)
		if negative {
			off = -off
		}
		v = st.regs[to].plus(off)
	}
	st.put(to, v)
}

func stepArithImmX86(st *symbolicState, i *x86.Inst) {
	if i.Mod != 3 {
		return
	}
	switch i.Reg & 7 {
	case 0: // add
		st.put(i.RM, st.regs[i.RM].plus(i.Imm))
	case 5: // sub
		st.put(i.RM, st.regs[i.RM].plus(-i.Imm))
	case 7: // cmp
	default:
		st.put(i.RM, value{})
	}
}
