// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"

	"prywalk/frames"
)

type insn uint32

func (w insn) is(mask, bits uint32) bool { return uint32(w)&mask == bits }

func (w insn) signed(lo, n uint) int64 { return int64(int32(uint32(w)<<(32-lo-n)) >> (32 - n)) }

func (w insn) rd() uint8  { return uint8(w & 31) }
func (w insn) rn() uint8  { return uint8(w >> 5 & 31) }
func (w insn) rt2() uint8 { return uint8(w >> 10 & 31) }

const (
	regSP = frames.ARM64SP // or xzr
	regFP = frames.ARM64FP
	regLR = frames.ARM64LR
)

const (
	pushPair  insn = 0xa9bf7bfd // stp x29, x30, [sp, #-16]!
	popPair   insn = 0xa8c17bfd // ldp x29, x30, [sp], #16
	setFP     insn = 0x910003fd // mov x29, sp
	backToFP  insn = 0x910003bf // mov sp, x29
	ret       insn = 0xd65f03c0
	alignESP  insn = 0x927cee9f // and sp, x20, #-16
	moveESP   insn = 0x9100029f // mov sp, x20
	pushX0LR  insn = 0xa9bf7be0 // stp x0, x30, [sp, #-16]!
	popX0LR   insn = 0xa8c17be0 // ldp x0, x30, [sp], #16
	popCrumb  insn = 0x910043ff // add sp, sp, #16
	loadNext  insn = 0x58000048 // ldr x8, literal after the next instruction
	jumpX8    insn = 0xd61f0100 // br x8
	nop       insn = 0xd503201f
	isb       insn = 0xd5033fdf
	pairAtSP  insn = 0xa9007bfd // stp x29, x30, [sp, #0]
	pairOfSP  insn = 0xa9407bfd // ldp likewise
	pairMask       = 0xffc07fff
	wordBytes      = 8
	insnBytes      = 4
)

type flow uint8

const (
	flowNext flow = iota
	flowCond
	flowJump
	flowCall
	flowReturn
	flowAway // to a register's address; or a trap
)

type change uint8

const (
	level  change = iota
	raises        // by a number of bytes
	lowers
	sets
)

// flow returns what follows the instruction; to is an unconditional jump's distance from it in bytes.
func (w insn) flow() (f flow, to int64) {
	switch {
	case w.is(0xfc000000, 0x14000000): // b
		return flowJump, 4 * w.signed(0, 26)
	case w.is(0xfc000000, 0x94000000): // bl
		return flowCall, 0
	case w.is(0xff000000, 0x54000000), w.is(0x7c000000, 0x34000000): // b.cond; cbz, cbnz, tbz, tbnz
		return flowCond, 0
	case w.is(0xfe000000, 0xd6000000):
		switch {
		case w.is(0xfffffc1f, 0xd63f0000), w.is(0xfefff800, 0xd63f0800): // blr, and its signed forms
			return flowCall, 0
		case w.is(0xfffffc1f, 0xd65f0000), w.is(0xfffffbff, 0xd65f0bff): // ret, retaa, retab
			return flowReturn, 0
		}
		return flowAway, 0
	case w.is(0xffff0000, 0), w.is(0xffe0001f, 0xd4200000): // udf, brk
		return flowAway, 0
	}
	return flowNext, 0
}

// stack returns how the instruction changes sp, raised or lowered by n bytes.
func (w insn) stack() (c change, n int64) {
	switch {
	case w.is(0x1f800000, 0x11000000): // add, sub of a constant
		return w.addsImmediate()
	case w.is(0x1f800000, 0x12000000), w.is(0x1fe00000, 0x0b200000):
		// Logic with a constant, add and sub of a register: those that set flags do not write sp.
		flags := uint32(w)>>29&3 == 3
		if uint32(w)&0x1f000000 == 0x0b000000 {
			flags = w.is(1<<29, 1<<29)
		}
		if w.rd() == regSP && !flags {
			return sets, 0
		}
	case w.is(0x3a000000, 0x28000000): // pairs
		if w.rn() == regSP && w.is(1<<23, 1<<23) {
			return changeBy(w.signed(15, 7) * w.pairScale())
		}
	case w.is(0x3b200000, 0x38000000): // one register, pre- or post-indexed
		if w.rn() == regSP && w.is(1<<10, 1<<10) {
			return changeBy(w.signed(12, 9))
		}
	case w.is(0xbfa00000, 0x0c800000): // vectors, post-indexed
		if w.rn() == regSP {
			return w.vectors()
		}
	case w.is(0xffa0f800, 0x04205000): // addvl, addpl
		if w.rd() == regSP {
			return sets, 0
		}
	}
	return level, 0
}

func changeBy(n int64) (change, int64) {
	if n < 0 {
		return lowers, -n
	}
	return raises, n
}

func (w insn) addsImmediate() (change, int64) {
	if w.rd() != regSP || w.is(1<<29, 1<<29) {
		return level, 0
	}
	if w.rn() != regSP {
		return sets, 0
	}
	n := int64(uint32(w) >> 10 & 0xfff)
	if w.is(1<<22, 1<<22) {
		n <<= 12
	}
	if w.is(1<<30, 1<<30) {
		n = -n
	}
	return changeBy(n)
}

func (w insn) pairScale() int64 {
	opc := uint32(w) >> 30
	if w.is(1<<26, 1<<26) {
		return 4 << opc
	}
	return 4 << (opc >> 1)
}

func (w insn) vectors() (change, int64) {
	registers := map[uint32]int64{0: 4, 2: 4, 4: 3, 6: 3, 7: 1, 8: 2, 10: 2}[uint32(w)>>12&15]
	if uint32(w)>>16&31 != 31 || registers == 0 {
		return sets, 0
	}
	if w.is(1<<30, 1<<30) {
		registers *= 2
	}
	return raises, 8 * registers
}

func (w insn) calls() bool { f, _ := w.flow(); return f == flowCall }

type window struct {
	low  uint64
	code []byte
}

func (v window) at(pc uint64) (insn, bool) {
	off := pc - v.low
	if off+insnBytes > uint64(len(v.code)) || off >= uint64(len(v.code)) {
		return 0, false
	}
	return insn(binary.LittleEndian.Uint32(v.code[off:])), true
}
