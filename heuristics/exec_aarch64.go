// SPDX-License-Identifier: Apache-2.0

package heuristics

import "encoding/binary"

// a64 is an instruction (Arm ARM C4.1).
type a64 uint32

func (w a64) is(mask, bits uint32) bool { return uint32(w)&mask == bits }

func (w a64) field(lo, n uint) uint8 { return uint8(uint32(w) >> lo & (1<<n - 1)) }

func (w a64) signed(lo, n uint) int64 {
	return int64(int32(uint32(w)<<(32-lo-n)) >> (32 - n))
}

func (w a64) rd() uint8  { return w.field(0, 5) }
func (w a64) rn() uint8  { return w.field(5, 5) }
func (w a64) rt2() uint8 { return w.field(10, 5) }
func (w a64) rm() uint8  { return w.field(16, 5) }

func stepA64(st *symbolicState, code []byte, f *flow) {
	if len(code) < 4 {
		*f = flow{kind: flowEnd}
		return
	}
	w := a64(binary.LittleEndian.Uint32(code))
	*f = flow{size: 4}
	st.pushedMem = st.pushedMem || w == pushA64
	switch {
	case w == 0xd4200000, w == 0xd43e0000:
		// a debugger's brk #0 or #0xf000: the program goes on behind
	case w.is(0xffff0000, 0), w.is(0xffe0001f, 0xd4200000), w.is(0xffe0001f, 0xd4400000):
		f.kind = flowEnd // udf, brk (of traps), hlt
	case w.is(0xfffff01f, 0xd503201f):
		stepHintA64(w, f)
	case w.is(0x1c000000, 0x14000000):
		stepBranchA64(st, w, f)
	case w.is(0x1c000000, 0x10000000):
		stepImmediateA64(st, w)
	case w.is(0x0a000000, 0x08000000):
		stepMemoryA64(st, w)
	case w.is(0x0e000000, 0x0a000000):
		stepRegisterA64(st, w)
	default:
		stepVectorA64(st, w)
	}
}

// stepHintA64 interprets nop, and the landing places bti c, bti jc, paciasp and pacibsp. The walker removes signatures.
func stepHintA64(w a64, f *flow) {
	switch uint32(w) {
	case 0xd503201f:
		f.padding = true
	case 0xd503245f, 0xd50324df, 0xd503233f, 0xd503237f:
		f.landing = true
	}
}

// putA64 writes a register; 31 is none.
func putA64(st *symbolicState, reg uint8, v value) {
	if reg != regSP {
		st.set(reg, v)
	}
}

// putSP writes a register; 31 is the stack pointer.
func putSP(st *symbolicState, reg uint8, v value) {
	if reg == regSP && (v.kind == unknown || v.kind == constant) {
		v = st.newUnnamedBase()
	}
	st.set(reg, v)
}

// stepBranchA64 also interprets exceptions and system instructions. Targets are relative to the next instruction.
func stepBranchA64(st *symbolicState, w a64, f *flow) {
	switch {
	case w.is(0xfc000000, 0x14000000):
		f.kind, f.target = flowJump, uint64(4*w.signed(0, 26)-4)
	case w.is(0xfc000000, 0x94000000):
		f.kind, f.target = flowCall, uint64(4*w.signed(0, 26)-4)
		st.clobber(scratchA64)
	case w.is(0xff000000, 0x54000000), w.is(0x7e000000, 0x34000000):
		f.kind, f.target = flowCond, uint64(4*w.signed(5, 19)-4)
	case w.is(0x7e000000, 0x36000000):
		f.kind, f.target = flowCond, uint64(4*w.signed(5, 14)-4)
	case w.is(0xffc0001f, 0x5500001f): // retaasppc, retabsppc
		f.kind, f.ret, f.ra = flowReturn, st.regs[regSP], st.regs[regLR]
	case w.is(0xfe000000, 0xd6000000):
		stepIndirectA64(st, w, f)
	case w.is(0xffe0001f, 0xd4000001): // svc
		putA64(st, 0, value{})
	case w.is(0xfff00000, 0xd5300000), w.is(0xfff80000, 0xd5280000): // mrs, sysl
		putA64(st, w.rd(), value{})
	}
}

// stepIndirectA64 interprets br, blr, ret and their signed forms. A jump by x16 or x17 is a tail call: PLT entries use
// these, and only these may jump to a function's start where branch targets are checked.
func stepIndirectA64(st *symbolicState, w a64, f *flow) {
	switch {
	case w.is(0xfffffbe0, 0xd65f0be0): // retaa, retab, retaasppcr, retabsppcr
		f.kind, f.ret, f.ra = flowReturn, st.regs[regSP], st.regs[regLR]
	case w.is(0xfffffc1f, 0xd65f0000):
		f.kind, f.ret, f.ra = flowReturn, st.regs[regSP], st.regs[w.rn()]
	case isCallA64(w):
		f.kind = flowCall
		st.clobber(scratchA64)
	case w.is(0xfffffc1f, 0xd61f0000), w.is(0xfefff800, 0xd61f0800):
		f.kind = flowIndirect
		if w.rn() == 16 || w.rn() == 17 {
			*f = tailA64(st)
			if st.pushedMem {
				*f = pltJumpA64(st)
			}
			f.size = 4
		}
	default:
		f.kind = flowEnd
	}
}

// isCallA64 recognises blr and its signed forms.
func isCallA64(w a64) bool {
	return w.is(0xfffffc1f, 0xd63f0000) || w.is(0xfefff800, 0xd63f0800)
}

func stepImmediateA64(st *symbolicState, w a64) {
	switch {
	case w.is(0x9f800000, 0x91000000):
		stepAddImmA64(st, w)
	case w.is(0xbfc00000, 0x91800000): // addg, subg
		putSP(st, w.rd(), value{})
	case w.is(0x1f000000, 0x11000000):
		putA64(st, w.rd(), value{}) // 32 bits
	case w.is(0x7f800000, 0x52800000): // movz
		stepMoveWideA64(st, w)
	case w.is(0x1f800000, 0x12000000) && !w.is(0x60000000, 0x60000000):
		putSP(st, w.rd(), value{}) // and, orr, eor: may align the stack pointer
	case w.is(0xff800000, 0xf2800000): // movk
		stepMovkA64(st, w)
	default:
		putA64(st, w.rd(), value{})
	}
}

// stepAddImmA64 interprets 64-bit add and sub of an immediate. Register 31 is the stack pointer, or none if flags are
// set.
func stepAddImmA64(st *symbolicState, w a64) {
	n := int64(uint32(w) >> 10 & 0xfff)
	if w.is(1<<22, 1<<22) {
		n <<= 12
	}
	if w.is(1<<30, 1<<30) {
		n = -n
	}
	v := st.regs[w.rn()].plus(n)
	if w.is(1<<29, 1<<29) {
		putA64(st, w.rd(), v)
	} else {
		putSP(st, w.rd(), v)
		if n == 0 && w.rn() != regSP { // mov sp, xn
			st.noteLoadedSP(w.rd())
		}
	}
}

func stepMoveWideA64(st *symbolicState, w a64) {
	n := int64(uint32(w)>>5&0xffff) << (16 * w.field(21, 2))
	v := value{kind: constant, off: int32(n)}
	if n > 1<<30 || n < 0 {
		v = value{}
	}
	putA64(st, w.rd(), v)
}

func stepMovkA64(st *symbolicState, w a64) {
	v := st.regs[w.rd()]
	n := int64(uint32(w)>>5&0xffff) << (16 * w.field(21, 2))
	if v.kind != constant || n > 1<<30 || n < 0 {
		v = value{}
	}
	v.off |= int32(n)
	if v.kind == unknown {
		v = value{}
	}
	putA64(st, w.rd(), v)
}

func stepRegisterA64(st *symbolicState, w a64) {
	switch {
	case w.is(0xffe0ffe0, 0xaa0003e0): // mov
		v := value{}
		if w.rm() != regSP {
			v = st.regs[w.rm()]
		}
		putA64(st, w.rd(), v)
	case w.is(0xbfe00000, 0x8b200000): // add, sub (extended register)
		v := value{}
		if m := st.regs[w.rm()]; m.kind == constant && w.rm() != regSP && w.is(0x1c00, 0) {
			v = extendedA64(st, w, m)
		}
		putSP(st, w.rd(), v)
	case w.is(0x1fe00000, 0x1a400000): // conditional compare
	case w.is(0xffff0000, 0xdac10000): // pacia, autia, xpaci and the like: only the signature changes
	default:
		putA64(st, w.rd(), value{})
	}
}

func extendedA64(st *symbolicState, w a64, m value) value {
	if w.is(1<<30, 1<<30) {
		return st.regs[w.rn()].plus(-int64(m.off))
	}
	return st.regs[w.rn()].plus(int64(m.off))
}

// stepVectorA64 interprets vector instructions: moves and conversions to general registers, and addvl and addpl, which
// move the stack pointer.
func stepVectorA64(st *symbolicState, w a64) {
	switch {
	case w.is(0x5f20fc00, 0x1e200000):
		if op := w.field(16, 3); op != 2 && op != 3 && op != 7 {
			putA64(st, w.rd(), value{})
		}
	case w.is(0xbfe0fc00, 0x0e003c00), w.is(0xbfe0fc00, 0x0e002c00): // umov, smov
		putA64(st, w.rd(), value{})
	case w.is(0xffa0f000, 0x04205000): // addvl, addpl, addsvl, addspl
		putSP(st, w.rd(), value{})
	case w.is(0xfffff000, 0x04bf5000), w.is(0xff20e000, 0x0420e000), w.is(0xff30c000, 0x25208000),
		w.is(0xff2ee000, 0x0520a000): // rdvl, cntb, incb; cntp, incp; lasta, clasta, and the like
		putA64(st, w.rd(), value{})
	}
}
