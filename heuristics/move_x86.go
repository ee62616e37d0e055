// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/internal/x86"

// The instructions whose results are tracked: mov, lea, add, sub, cmp.

// addressX86 returns the address of a memory operand, if that is a tracked register plus a constant.
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

// setX86 writes a register. An unknown stack pointer becomes a new base.
func setX86(st *symbolicState, reg uint8, v value) {
	if reg == hwSP && (v.kind == unknown || v.kind == constant) {
		v = st.newUnnamedBase()
	}
	st.set(reg, v)
}

// stepMoveX86 interprets mov (88 to 8B, B8, C7) and lea (8D).
func stepMoveX86(st *symbolicState, i *x86.Inst) {
	switch op := i.Op; {
	case op == 0x8d:
		stepLeaX86(st, i)
	case op >= 0xb8 && op < 0xc0: // mov reg, imm
		setX86(st, i.Low(), constX86(i))
	case op == 0xc7 && i.Mod == 3:
		setX86(st, i.RM, constX86(i))
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
		setX86(st, to, v)
		st.noteLoadedSP(to)
	case op == 0x89:
		stepStoreX86(st, i)
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

func stepLeaX86(st *symbolicState, i *x86.Inst) {
	v := value{}
	if i.W {
		v = addressX86(st, i)
	}
	setX86(st, i.Reg, v)
}

func stepStoreX86(st *symbolicState, i *x86.Inst) {
	v := value{}
	if i.W {
		v = st.regs[i.Reg]
	}
	st.store(addressX86(st, i), v)
}

func stepLoadX86(st *symbolicState, i *x86.Inst) {
	at := addressX86(st, i)
	if !i.W || at.kind != startRelative || i.Reg == hwSP && at.base != hwSP && at.base != hwBP {
		setX86(st, i.Reg, value{})
		st.noteLoadedSP(i.Reg)
		return
	}
	st.restore(i.Reg, at)
}

func stepArithX86(st *symbolicState, i *x86.Inst) {
	if !i.W || !i.HasRM {
		clobberX86(st, writtenByOneByte(i))
		return
	}
	switch op := i.Op; {
	case op == 0x81 || op == 0x83:
		stepArithImmX86(st, i)
	case i.Mod != 3:
		clobberX86(st, writtenByOneByte(i))
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
		clobberX86(st, writtenByOneByte(i))
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
	setX86(st, to, v)
}

// stepArithImmX86 interprets 81 and 83, arithmetic with an immediate.
func stepArithImmX86(st *symbolicState, i *x86.Inst) {
	if i.Mod != 3 {
		return
	}
	switch i.Reg & 7 {
	case 0: // add
		setX86(st, i.RM, st.regs[i.RM].plus(i.Imm))
	case 5: // sub
		setX86(st, i.RM, st.regs[i.RM].plus(-i.Imm))
	case 7: // cmp
	default:
		setX86(st, i.RM, value{})
	}
}
