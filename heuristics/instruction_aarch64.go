// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"encoding/binary"
	"slices"
)

// AAPCS64 §6.1.1.
const (
	regFP = 29
	regLR = 30
	regSP = 31
)

// A call may change x0 to x18, and writes x30.
const scratchARM64 = 1<<19 - 1 | 1<<regLR

var abiARM64 = abi{
	sp: regSP, fp: regFP, ra: regLR, scratch: scratchARM64,
	calleeSaved: []uint8{regFP, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28},
	step:        stepARM64,
	dwarf:       func(reg uint8) uint8 { return reg },
	afterPush:   afterPushARM64,
	callBefore:  callBeforeARM64,
	endsInJump:  endsInJumpARM64,
	syscall:     []byte{0x01, 0, 0, 0xd4}, syscallReg: 8, exit: 93, exitGroup: 94, // include/uapi/asm-generic/unistd.h
	sigreturnForms: sigreturnARM64, signalRow: signalRowARM64(),
}

// pushARM64 is "stp x16, x30, [sp, #-16]!", the start of a procedure linkage table.
const pushARM64 = 0xa9bf7bf0

// pltHeadARM64 has masks and bits of adrp x16, ldr x17, add x16, from there to the jump by x17.
var pltHeadARM64 = [...][2]uint32{{0x9f00001f, 0x90000010}, {0xffc003ff, 0xf9400211}, {0xff8003ff, 0x91000210}}

func afterPushARM64(in *interpreter, pc uint64) bool {
	for i := uint64(1); i <= 1+uint64(len(pltHeadARM64)) && pc >= 4*i; i++ {
		code := in.code(pc - 4*i)
		if len(code) < 4 {
			return false
		}
		insn := insnARM64(binary.LittleEndian.Uint32(code))
		if insn == pushARM64 {
			return true
		}
		if !slices.ContainsFunc(pltHeadARM64[:], func(p [2]uint32) bool { return insn.is(p[0], p[1]) }) {
			return false
		}
	}
	return false
}

// insnARM64 is an instruction (Arm ARM C4.1).
type insnARM64 uint32

func (w insnARM64) is(mask, bits uint32) bool { return uint32(w)&mask == bits }

func (w insnARM64) field(lo, n uint) uint8 { return uint8(uint32(w) >> lo & (1<<n - 1)) }

func (w insnARM64) signed(lo, n uint) int64 {
	return int64(int32(uint32(w)<<(32-lo-n)) >> (32 - n))
}

func (w insnARM64) rd() uint8  { return w.field(0, 5) }
func (w insnARM64) rn() uint8  { return w.field(5, 5) }
func (w insnARM64) rt2() uint8 { return w.field(10, 5) }
func (w insnARM64) rm() uint8  { return w.field(16, 5) }

func stepARM64(st *symbolicState, code []byte, f *flow) {
	if len(code) < 4 {
		*f = flow{kind: flowEnd, toReg: noReg}
		return
	}
	w := insnARM64(binary.LittleEndian.Uint32(code))
	*f = flow{size: 4, toReg: noReg}
	st.pushedMem = st.pushedMem || w == pushARM64
	switch {
	case w == 0xd4200000, w == 0xd43e0000:
		// The program goes on behind a debugger's brk #0 or #0xf000.
	case w.is(0xffff0000, 0), w.is(0xffe0001f, 0xd4200000), w.is(0xffe0001f, 0xd4400000):
		f.kind, f.trap = flowEnd, true // udf, brk (of traps), hlt
	case w.is(0xfffff01f, 0xd503201f):
		switch uint32(w) { // nop; bti c, bti jc, paciasp, pacibsp. The walker removes signatures.
		case 0xd503201f:
			f.padding = true
		case 0xd503245f, 0xd50324df, 0xd503233f, 0xd503237f:
			f.landing = true
		}
	case w.is(0x1c000000, 0x14000000):
		stepBranchARM64(st, w, f)
	case w.is(0x1c000000, 0x10000000):
		stepImmediateARM64(st, w)
	case w.is(0x0a000000, 0x08000000):
		stepMemoryARM64(st, w)
	case w.is(0x0e000000, 0x0a000000):
		stepRegisterARM64(st, w)
	default:
		stepVectorARM64(st, w)
	}
}

// putARM64 writes a register; 31 is none, unlike for [symbolicState.put], which takes it for the stack pointer.
func putARM64(st *symbolicState, reg uint8, v value) {
	if reg != regSP {
		st.set(reg, v)
	}
}

func stepBranchARM64(st *symbolicState, w insnARM64, f *flow) {
	switch {
	case w.is(0xfc000000, 0x14000000):
		f.kind, f.target = flowJump, st.pc+uint64(4*w.signed(0, 26))
	case w.is(0xfc000000, 0x94000000):
		f.kind, f.target = flowCall, st.pc+uint64(4*w.signed(0, 26))
		st.clobber(scratchARM64)
	case w.is(0xff000000, 0x54000000), w.is(0x7e000000, 0x34000000):
		f.kind, f.target = flowCond, st.pc+uint64(4*w.signed(5, 19))
	case w.is(0x7e000000, 0x36000000):
		f.kind, f.target = flowCond, st.pc+uint64(4*w.signed(5, 14))
	case w.is(0x7e000000, 0x74000000): // cbgt and the like (FEAT_CMPBR)
		f.kind, f.target = flowCond, st.pc+uint64(4*w.signed(5, 9))
	case w.is(0xffc0001f, 0x5500001f): // retaasppc, retabsppc
		f.kind, f.ret, f.ra = flowReturn, st.regs[regSP], st.regs[regLR]
	case w.is(0xfe000000, 0xd6000000):
		stepIndirectARM64(st, w, f)
	case w.is(0xffe0001f, 0xd4000001): // svc
		putARM64(st, 0, value{})
	case w.is(0xfff00000, 0xd5300000), w.is(0xfff80000, 0xd5280000): // mrs, sysl
		putARM64(st, w.rd(), value{})
	}
}

// stepIndirectARM64 interprets an indirect jump. One by x16 or x17 is a tail call: only these may jump to a function's
// start where branch targets are checked.
func stepIndirectARM64(st *symbolicState, w insnARM64, f *flow) {
	switch {
	case w.is(0xfffffbe0, 0xd65f0be0): // retaa, retab, retaasppcr, retabsppcr
		f.kind, f.ret, f.ra = flowReturn, st.regs[regSP], st.regs[regLR]
	case w.is(0xfffffc1f, 0xd65f0000):
		f.kind, f.ret, f.ra, f.toReg = flowReturn, st.regs[regSP], st.regs[w.rn()], w.rn()
	case isCallARM64(w):
		f.kind = flowCall
		st.clobber(scratchARM64)
	case w.is(0xfffffc1f, 0xd61f0000), w.is(0xfefff800, 0xd61f0800):
		f.kind = flowIndirect
		if w.rn() == 16 || w.rn() == 17 {
			f.kind, f.ret, f.ra = flowTail, st.regs[regSP], st.regs[regLR]
			if st.pushedMem { // to the dynamic linker's resolver, which pops the two words and jumps to the function
				f.ret = f.ret.plus(16)
			}
		}
		if isJumpARM64(w) {
			f.toReg = w.rn()
		}
	default:
		f.kind = flowEnd
	}
}

func isCallARM64(w insnARM64) bool {
	return w.is(0xfffffc1f, 0xd63f0000) || w.is(0xfefff800, 0xd63f0800)
}

func stepImmediateARM64(st *symbolicState, w insnARM64) {
	switch {
	case w.is(0x9f800000, 0x91000000):
		stepAddImmARM64(st, w)
	case w.is(0xbfc00000, 0x91800000): // addg, subg
		st.put(w.rd(), value{})
	case w.is(0x1f000000, 0x11000000):
		putARM64(st, w.rd(), value{}) // 32 bits
	case w.is(0x7f800000, 0x52800000): // movz
		putARM64(st, w.rd(), wideARM64(w))
	case w.is(0x1f800000, 0x12000000) && !w.is(0x60000000, 0x60000000):
		st.put(w.rd(), value{}) // and, orr, eor: may align the stack pointer
	case w.is(0xff800000, 0xf2800000): // movk
		v := st.regs[w.rd()]
		if n := wideARM64(w); v.kind == constant && n.kind == constant {
			v.off = v.off&^(0xffff<<w.wideShift()) | n.off
		} else {
			v = value{}
		}
		putARM64(st, w.rd(), v)
	default:
		putARM64(st, w.rd(), value{})
	}
}

// stepAddImmARM64 interprets add and sub. Register 31 is none if flags are set, else the stack pointer.
func stepAddImmARM64(st *symbolicState, w insnARM64) {
	n := int64(uint32(w) >> 10 & 0xfff)
	if w.is(1<<22, 1<<22) {
		n <<= 12
	}
	if w.is(1<<30, 1<<30) {
		n = -n
	}
	v := st.regs[w.rn()].plus(n)
	if w.is(1<<29, 1<<29) {
		putARM64(st, w.rd(), v)
	} else {
		st.put(w.rd(), v)
		if n == 0 && w.rn() != regSP { // mov sp, xn
			st.detectForeignSP(w.rd())
		}
	}
}

func (w insnARM64) wideShift() uint8 { return 16 * w.field(21, 2) }

// wideARM64 returns the immediate of movz and movk; unknown beyond 2³⁰.
func wideARM64(w insnARM64) value {
	n := uint64(uint32(w)>>5&0xffff) << w.wideShift()
	if n > 1<<30 {
		return value{}
	}
	return value{kind: constant, off: int32(n)}
}

func stepRegisterARM64(st *symbolicState, w insnARM64) {
	switch {
	case w.is(0xffe0ffe0, 0xaa0003e0): // mov
		v := value{}
		if w.rm() != regSP {
			v = st.regs[w.rm()]
		}
		putARM64(st, w.rd(), v)
	case w.is(0xbfe00000, 0x8b200000): // add, sub (extended register)
		v := value{}
		if m := st.regs[w.rm()]; m.kind == constant && w.rm() != regSP && w.is(0x1c00, 0) {
			n := int64(m.off)
			if w.is(1<<30, 1<<30) {
				n = -n
			}
			v = st.regs[w.rn()].plus(n)
		}
		st.put(w.rd(), v)
	case w.is(0x1fe00000, 0x1a400000): // conditional compare
	case w.is(0xffff0000, 0xdac10000): // pacia, autia, xpaci and the like: only the signature changes
	default:
		putARM64(st, w.rd(), value{})
	}
}

// stepVectorARM64 interprets addvl and addpl, which move the stack pointer.
func stepVectorARM64(st *symbolicState, w insnARM64) {
	switch {
	case w.is(0x5f20fc00, 0x1e200000):
		if op := w.field(16, 3); op != 2 && op != 3 && op != 7 {
			putARM64(st, w.rd(), value{})
		}
	case w.is(0x7f3e0000, 0x1e180000), // fcvtzs, fcvtzu (to fixed point)
		w.is(0xbfe0fc00, 0x0e003c00), w.is(0xbfe0fc00, 0x0e002c00): // umov, smov
		putARM64(st, w.rd(), value{})
	case w.is(0xffa0f000, 0x04205000): // addvl, addpl, addsvl, addspl
		st.put(w.rd(), value{})
	case w.is(0xfffff000, 0x04bf5000), w.is(0xff20e000, 0x0420e000), w.is(0xff30c000, 0x25208000),
		w.is(0xff2ee000, 0x0520a000): // rdvl, cntb, incb; cntp, incp; lasta, clasta, and the like
		putARM64(st, w.rd(), value{})
	}
}

// stepMemoryARM64 interprets loads and stores (Arm ARM C4.1.94).
func stepMemoryARM64(st *symbolicState, w insnARM64) {
	switch {
	case w.is(0x3a000000, 0x28000000):
		stepPairARM64(st, w)
	case w.is(0x3b000000, 0x39000000):
		stepAccessAtOffsetARM64(st, w, int64(uint32(w)>>10&0xfff)<<sizeARM64(w))
	case w.is(0x3b200000, 0x38000000):
		stepIndexedARM64(st, w)
	case w.is(0x3b000000, 0x18000000): // literal
		if !w.is(1<<26, 1<<26) {
			putARM64(st, w.rd(), value{})
		}
	case w.is(0x3b000000, 0x19000000):
		stepTagsAndCopiesARM64(st, w)
	case w.is(0x3f000000, 0x08000000): // exclusive, ordered
		if w.is(1<<22, 1<<22) {
			putARM64(st, w.rd(), value{})
			putARM64(st, w.rt2(), value{})
		}
		putARM64(st, w.rm(), value{})
		if w.is(0xbfa07c00, 0x08207c00) { // casp
			putARM64(st, w.rm()+1, value{})
		}
	case w.is(0xbfa00000, 0x0c800000), w.is(0xbf800000, 0x0d800000): // ld1 to ld4, st1 to st4 that move their base
		base := value{}
		if w.rm() == 31 { // by the size; else by a register
			base = st.regs[w.rn()].plus(structureBytesARM64(w))
		}
		st.put(w.rn(), base)
	case w.is(0x3f200000, 0x38200000): // by register; atomic; ldraa, ldrab
		if w.field(22, 2) != 0 || w.field(10, 2) != 2 {
			putARM64(st, w.rd(), value{})
		}
		if w.field(10, 2) == 3 {
			st.put(w.rn(), value{})
		}
	}
}

// structureBytesARM64 returns the bytes that ld1 to ld4 and st1 to st4 access.
func structureBytesARM64(w insnARM64) int64 {
	if !w.is(1<<24, 1<<24) { // whole registers
		regs := [16]int64{0: 4, 2: 4, 4: 3, 6: 3, 7: 1, 8: 2, 10: 2}[w.field(12, 4)]
		return regs * (8 << w.field(30, 1))
	}
	elements, size := int64(w.field(13, 1)<<1|w.field(21, 1))+1, w.field(14, 2)
	switch {
	case size == 3: // the same for all elements of the registers
		size = w.field(10, 2)
	case size == 2 && w.field(10, 1) == 1:
		size = 3
	}
	return elements << size
}

// sizeARM64 returns log2 of the bytes of a single access.
func sizeARM64(w insnARM64) uint8 {
	if w.is(1<<26, 1<<26) && w.field(23, 1) == 1 {
		return 4 // a whole vector register
	}
	return w.field(30, 2)
}

// stepTagsAndCopiesARM64 interprets stores of memory tags; ldapur, stlur; copies, ldiapp and stilp, which move their
// base.
func stepTagsAndCopiesARM64(st *symbolicState, w insnARM64) {
	index := w.field(10, 2)
	switch {
	case w.is(0xff200000, 0xd9200000) && index&1 != 0:
		st.put(w.rn(), st.regs[w.rn()].plus(w.signed(12, 9)*16))
	case w.is(0xff200000, 0xd9200000) && index != 0: // with an offset
	case index == 0 && w.field(22, 2) != 0: // loads
		putARM64(st, w.rd(), value{})
	case index != 0:
		putARM64(st, w.rd(), value{})
		putARM64(st, w.rm(), value{})
		st.put(w.rn(), value{})
	}
}

func stepPairARM64(st *symbolicState, w insnARM64) {
	vector, load := w.is(1<<26, 1<<26), w.is(1<<22, 1<<22)
	opc, mode := w.field(30, 2), w.field(23, 2)
	scale := int64(4) << (opc >> 1)
	if vector {
		scale = 4 << opc
	}
	tagged := opc == 1 && !vector && !load // stgp
	if tagged {
		scale = 16
	}
	off := w.signed(15, 7) * scale
	base := st.regs[w.rn()]
	at := base
	if mode != 1 {
		at = at.plus(off)
	}
	if !vector {
		whole := opc == 2 || tagged
		accessARM64(st, w.rd(), at, load, whole)
		accessARM64(st, w.rt2(), at.plus(min(scale, 8)), load, whole) // stgp scales by 16
	}
	if mode&1 != 0 {
		st.put(w.rn(), base.plus(off))
	}
}

// accessARM64 loads or stores a register. whole is for all 64 bits.
func accessARM64(st *symbolicState, reg uint8, at value, load, whole bool) {
	switch {
	case load && reg == regSP:
	case load && whole:
		st.restore(reg, at)
	case load:
		st.set(reg, value{})
	case whole && (reg == regLR || reg == regFP) && st.regs[reg].isStartValue(reg):
		// Go saves relative to x20, which becomes the stack pointer only afterwards.
		st.storeAt(at, st.regs[reg])
	case whole && reg != regSP:
		st.store(at, st.regs[reg])
	default:
		st.store(at, value{})
	}
}

func stepAccessAtOffsetARM64(st *symbolicState, w insnARM64, off int64) {
	if w.is(1<<26, 1<<26) || w.is(0xffc00000, 0xf9800000) || w.is(0xffc00000, 0xf8800000) {
		return // vector registers, prefetch
	}
	load := w.field(22, 2) != 0
	accessARM64(st, w.rd(), st.regs[w.rn()].plus(off), load, w.field(30, 2) == 3)
}

// stepIndexedARM64 interprets accesses that may move their base.
func stepIndexedARM64(st *symbolicState, w insnARM64) {
	off, mode := w.signed(12, 9), w.field(10, 2)
	base, at := st.regs[w.rn()], off
	if mode == 1 { // the base is moved after the access
		at = 0
	}
	stepAccessAtOffsetARM64(st, w, at)
	if mode&1 != 0 {
		st.put(w.rn(), base.plus(off))
	}
}
