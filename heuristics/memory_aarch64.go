// SPDX-License-Identifier: Apache-2.0

package heuristics

// stepMemoryA64 interprets loads and stores (Arm ARM C4.1.94).
func stepMemoryA64(st *symbolicState, w a64) {
	switch {
	case w.is(0x3a000000, 0x28000000):
		stepPairA64(st, w)
	case w.is(0x3b000000, 0x39000000):
		stepAccessAtOffsetA64(st, w, int64(uint32(w)>>10&0xfff)<<sizeA64(w))
	case w.is(0x3b200000, 0x38000000):
		stepIndexedA64(st, w)
	case w.is(0x3b000000, 0x18000000): // literal
		if !w.is(1<<26, 1<<26) {
			putA64(st, w.rd(), value{})
		}
	case w.is(0x3b000000, 0x19000000):
		stepTagsAndCopiesA64(st, w)
	case w.is(0x3f000000, 0x08000000): // exclusive, ordered
		stepExclusiveA64(st, w)
	case w.is(0x3f200000, 0x38200000): // by register; atomic; ldraa, ldrab
		if w.field(22, 2) != 0 || w.field(10, 2) != 2 {
			putA64(st, w.rd(), value{})
		}
		if w.field(10, 2) == 3 {
			putSP(st, w.rn(), value{})
		}
	}
}

// sizeA64 returns log2 of the bytes of a single access.
func sizeA64(w a64) uint8 {
	if w.is(1<<26, 1<<26) && w.field(23, 1) == 1 {
		return 4 // a whole vector register
	}
	return w.field(30, 2)
}

// stepTagsAndCopiesA64 interprets stores of memory tags; ldapur and stlur; what moves its base (copies, ldiapp, stilp).
func stepTagsAndCopiesA64(st *symbolicState, w a64) {
	index := w.field(10, 2)
	switch {
	case w.is(0xff200000, 0xd9200000) && index&1 != 0:
		putSP(st, w.rn(), st.regs[w.rn()].plus(w.signed(12, 9)*16))
	case w.is(0xff200000, 0xd9200000) && index != 0: // with an offset
	case index == 0 && w.field(22, 2) != 0: // loads
		putA64(st, w.rd(), value{})
	case index != 0:
		putA64(st, w.rd(), value{})
		putA64(st, w.rm(), value{})
		putSP(st, w.rn(), value{})
	}
}

// stepPairA64 interprets stp and ldp, stgp and ldpsw.
func stepPairA64(st *symbolicState, w a64) {
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
		accessA64(st, w.rd(), at, load, whole)
		accessA64(st, w.rt2(), at.plus(8), load, whole)
	}
	if mode&1 != 0 {
		putSP(st, w.rn(), base.plus(off))
	}
}

// accessA64 loads or stores a register. whole: all 64 bits.
func accessA64(st *symbolicState, reg uint8, at value, load, whole bool) {
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

func stepAccessAtOffsetA64(st *symbolicState, w a64, off int64) {
	if w.is(1<<26, 1<<26) || w.is(0xffc00000, 0xf9800000) || w.is(0xffc00000, 0xf8800000) {
		return // vector registers, prefetch
	}
	load := w.field(22, 2) != 0
	accessA64(st, w.rd(), st.regs[w.rn()].plus(off), load, w.field(30, 2) == 3)
}

// stepIndexedA64 interprets accesses with 9-bit offsets, which can move their base.
func stepIndexedA64(st *symbolicState, w a64) {
	off := w.signed(12, 9)
	base := st.regs[w.rn()]
	switch w.field(10, 2) {
	case 0, 2:
		stepAccessAtOffsetA64(st, w, off)
	case 1:
		stepAccessAtOffsetA64(st, w, 0)
		putSP(st, w.rn(), base.plus(off))
	case 3:
		stepAccessAtOffsetA64(st, w, off)
		putSP(st, w.rn(), base.plus(off))
	}
}

func stepExclusiveA64(st *symbolicState, w a64) {
	if w.is(1<<22, 1<<22) {
		putA64(st, w.rd(), value{})
		putA64(st, w.rt2(), value{})
	}
	putA64(st, w.rm(), value{})
	if w.is(0xbfa07c00, 0x08207c00) { // casp
		putA64(st, w.rm()+1, value{})
	}
}
