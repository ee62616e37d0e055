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

// scratchA64 are x0 to x18, which a call may change, and x30, which it writes.
const scratchA64 = 1<<19 - 1 | 1<<regLR

var abiAArch64 = abi{
	sp: regSP, fp: regFP, ra: regLR, scratch: scratchA64,
	calleeSaved:  []uint8{regFP, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28},
	step:         stepA64,
	afterPush:    afterPushA64,
	tail:         tailA64,
	isFrame:      isFrameA64,
	dwarf:        func(reg uint8) uint8 { return reg },
	callBefore:   callBeforeA64,
	isThreadRoot: isThreadRootA64,
	switchTarget: switchTargetA64,
	isTrap:       isTrapA64,
	endsInJump:   endsInJumpA64,
	hasTailCall:  (*interpreter).hasTailCallA64,
	trampoline:   trampolineA64,
}

func tailA64(st *symbolicState) flow {
	return flow{kind: flowTail, ret: st.regs[regSP], ra: st.regs[regLR]}
}

// pushA64 is "stp x16, x30, [sp, #-16]!", the start of a procedure linkage table.
const pushA64 = 0xa9bf7bf0

// pltHeadA64 has masks and bits of the instructions from there to the jump by x17: adrp x16, ldr x17, add x16.
var pltHeadA64 = [...][2]uint32{{0x9f00001f, 0x90000010}, {0xffc003ff, 0xf9400211}, {0xff8003ff, 0x91000210}}

// pltJumpA64 is for that jump, to the dynamic linker's resolver, which pops the two words and jumps to the function.
func pltJumpA64(st *symbolicState) flow {
	f := tailA64(st)
	f.ret = f.ret.plus(16)
	return f
}

func afterPushA64(w *interpreter, pc uint64) bool {
	for i := uint64(1); i <= 1+uint64(len(pltHeadA64)) && pc >= 4*i; i++ {
		code := w.code(pc - 4*i)
		if len(code) < 4 {
			return false
		}
		insn := a64(binary.LittleEndian.Uint32(code))
		if insn == pushA64 {
			return true
		}
		if !slices.ContainsFunc(pltHeadA64[:], func(p [2]uint32) bool { return insn.is(p[0], p[1]) }) {
			return false
		}
	}
	return false
}

// isFrameA64 reports whether x29 points to a frame record (AAPCS64 §6.4.6).
func isFrameA64(_, at, above value) bool {
	return at.isStartValue(regFP) && above.isStartValue(regLR)
}
