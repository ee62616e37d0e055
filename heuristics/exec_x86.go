// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/internal/x86"

// One instruction on symbolic values (value.go): exact if stack pointer, frame pointer, registers that are saved and
// restored by whole words, or control flow are concerned (here and in move_x86.go), else only the registers written
// (writes_x86.go). Other writes to memory are taken to leave slots alone (pop to memory, arithmetic and xchg on memory,
// stores of vectors or of parts of a word): compilers do not save registers so, nor overwrite a saved one.
//
// Sources: Intel SDM volume 2 (opcode maps of appendix A), System V ABI for x86-64 §3.2.

// Hardware numbers of implicit registers.
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

func stepX86(st *symbolicState, code []byte, f *flow) {
	var i x86.Inst
	if !x86.DecodeInto(code, &i) {
		*f = flow{kind: flowEnd}
		return
	}
	st.readCalleeSaved = st.readCalleeSaved || readsCalleeSavedX86(st, &i)
	cmpReg, pushedMem := st.cmpReg, st.pushedMem
	st.cmpReg, st.pushedMem = noReg, false
	*f = flow{size: i.Size}
	switch {
	case i.VEX:
		st.clobber(writtenByVEX(&i))
		if i.Map == x86.MapAPX && (i.Op == 0x8f || i.Op == 0xff && i.Reg&7 == 6) {
			f.kind = flowEnd // pop2, push2
		}
	case i.Map == x86.MapOne:
		stepOneByteX86(st, &i, f, cmpReg, pushedMem)
	case i.Map == x86.Map0F:
		stepTwoByteX86(st, &i, f, cmpReg)
	default:
		st.clobber(writtenByOtherMaps(&i))
	}
}

func stepOneByteX86(st *symbolicState, i *x86.Inst, f *flow, cmp uint8, mem bool) {
	switch op := i.Op; {
	case op >= 0x50 && op < 0x60, op == 0x68, op == 0x6a, op == 0x8f, op >= 0x9c && op <= 0x9d: // push, pop, pushf, popf
		stepStackX86(st, i, f)
	case op >= 0x70 && op < 0x80, op >= 0xe0 && op < 0xe4: // jcc, loop, jrcxz
		stepBranchX86(st, i, f, cmp)
	case op >= 0xe8 && op <= 0xeb, op == 0xc2, op == 0xc3, op == 0xff: // call, jmp, ret, group 5
		stepControlX86(st, i, f, mem)
	case op == 0xc8, op == 0xc9: // enter, leave
		stepFrameX86(st, i)
	case op == 0xcc, op == 0xf4, op == 0xf1, op == 0xca, op == 0xcb, op == 0xcf, op == 0xcd && i.Imm != -0x80:
		f.kind = flowEnd // int3, hlt, int1, retf, iret, int but 0x80
	case op == 0x90 && !i.REXBit(): // nop; with F3: pause
		f.padding = i.Prefix&x86.PrefixF3 == 0
	case op == 0x89, op == 0x8b, op == 0x8d, op >= 0xb8 && op < 0xc0, op == 0xc7: // mov, lea
		stepMoveX86(st, i)
	default:
		stepArithX86(st, i)
	}
}

func (st *symbolicState) push(sp uint8, v value) {
	st.regs[sp] = st.regs[sp].plus(-8)
	st.storeAt(st.regs[sp], v)
}

func stepStackX86(st *symbolicState, i *x86.Inst, f *flow) {
	if i.Prefix&x86.Prefix66 != 0 {
		st.regs[hwSP] = value{}
	}
	switch op := i.Op; {
	case op < 0x58: // push
		st.push(hwSP, st.regs[i.Low()])
	case op < 0x60: // pop
		stepPopX86(st, i.Low())
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

// stepPopX86 pops a word; noReg drops it.
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

// stepBranchX86 interprets conditional branches. Where `cmp rsp, reg; jne` does not jump both are equal: the end of a
// loop that allocates stack page by page.
func stepBranchX86(st *symbolicState, i *x86.Inst, f *flow, cmp uint8) {
	f.kind, f.target = flowCond, uint64(i.Imm)
	if i.Op >= 0xe0 && i.Op < 0xe3 { // loop
		st.clobber(1 << hwCX)
	}
	if i.Op&0xf == 5 && // jne
		i.Op >= 0x70 && i.Op < 0x90 && cmp != noReg && i.Imm < 0 {
		st.regs[hwSP] = st.regs[cmp]
	}
}

func stepControlX86(st *symbolicState, i *x86.Inst, f *flow, mem bool) {
	switch i.Op {
	case 0xe8: // call
		if i.Imm == 0 { // a call of the next instruction pushes its address
			st.push(hwSP, value{})
			return
		}
		f.kind, f.target = flowCall, uint64(i.Imm)
		st.clobber(scratchX86)
	case 0xe9, 0xeb: // jmp
		f.kind, f.target = flowJump, uint64(i.Imm)
	case 0xc2, 0xc3: // ret
		stepReturnX86(st, f)
	case 0xff:
		stepGroup5X86(st, i, f, mem)
	default:
		f.kind = flowEnd
	}
}

// stepReturnX86 finds the return address of ret, which may have been popped and pushed again behind dropped arguments
// (V8). One pushed from a context (swapcontext) is not the caller's.
func stepReturnX86(st *symbolicState, f *flow) {
	sp := st.regs[hwSP]
	f.kind, f.ret = flowReturn, sp.plus(8)
	v := st.load(sp)
	if sp.kind == startRelative && v.kind == loaded && v.addend == 0 && (v.base == hwSP || v.base == hwBP) {
		f.ret = value{kind: startRelative, base: v.base, off: v.off}.plus(8)
	}
}

// stepGroup5X86 interprets FF: inc, dec, call, jmp, push.
func stepGroup5X86(st *symbolicState, i *x86.Inst, f *flow, mem bool) {
	switch i.Reg & 7 {
	case 0, 1:
		stepArithX86(st, i)
	case 2: // call
		f.kind = flowCall
		st.clobber(scratchX86)
	case 4: // jmp
		stepIndirectX86(st, i, f, mem)
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

// stepIndirectX86 interprets indirect jumps. One through a fixed word is a tail call (PLT entry; the first one has
// pushed two more words), and so is one by r11 behind a release of stack (the dynamic linker's). One to a popped return
// address is a return. Others may be those of jump tables.
func stepIndirectX86(st *symbolicState, i *x86.Inst, f *flow, mem bool) {
	f.kind = flowIndirect
	sp := st.regs[hwSP]
	if i.Mod == 3 {
		v := st.regs[i.RM]
		at := value{kind: startRelative, base: v.base, off: v.off}
		if v.kind == loaded && v.addend == 0 && sp == at.plus(8) {
			f.kind, f.ret = flowReturn, sp
		} else if i.RM == 11 && st.releasedStack {
			f.kind, f.ret = flowTail, sp.plus(8)
		}
		return
	}
	if !i.RIPRel {
		return
	}
	f.kind = flowTail
	if mem {
		sp = sp.plus(16)
	}
	f.ret = sp.plus(8)
}

func stepTwoByteX86(st *symbolicState, i *x86.Inst, f *flow, cmp uint8) {
	switch op := i.Op; {
	case op >= 0x80 && op < 0x90: // jcc
		stepBranchX86(st, i, f, cmp)
	case op == 0x0b || op == 0xb9 || op == 0xff || op == 0x07 || op == 0x35: // ud2, ud1, ud0, sysret, sysexit
		f.kind = flowEnd
	case op == 0x1f || op == 0x0d: // nop, prefetch
		f.padding = true
	case op == 0x1e && i.Prefix&x86.PrefixF3 != 0 && i.Mod == 3 && i.RM == 2 && i.Reg == 7:
		f.landing = true // endbr64
	case op == 0xa0 || op == 0xa8: // push fs, gs
		st.push(hwSP, value{})
	case op == 0xa1 || op == 0xa9: // pop fs, gs
		stepPopX86(st, noReg)
	default:
		st.clobber(writtenByOtherMaps(i))
	}
}

// readsCalleeSavedX86 reports whether the instruction uses a callee-saved register's start value, other than to save
// it.
func readsCalleeSavedX86(st *symbolicState, i *x86.Inst) bool {
	if !i.HasRM {
		return false
	}
	if i.Base != noReg && i.Base != hwSP && isCalleeSavedAtStart(st, i.Base) ||
		i.Index != noReg && isCalleeSavedAtStart(st, i.Index) {
		return true
	}
	if i.Map != x86.MapOne || i.Mod != 3 || i.RM == i.Reg { // 85: test
		return i.Map == x86.MapOne && i.Op == 0x85 && i.Mod == 3 && isCalleeSavedAtStart(st, i.RM)
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
