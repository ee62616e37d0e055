// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
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
	kept:         []uint8{regFP, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28},
	exec:         execAArch64,
	step:         func(st *state, code []byte, f *flow) { *f = execAArch64(st, code) },
	afterPush:    afterPushA64,
	tail:         tailA64,
	isFrame:      isFrameA64,
	dwarf:        func(reg uint8) uint8 { return reg },
	callBefore:   callBeforeA64,
	isThreadRoot: isThreadRootA64,
	switchTarget: switchTargetA64,
	isTrap:       isTrapA64,
}

// tailA64 is the flow of a tail call: the link register has the return address.
func tailA64(st *state) flow {
	return flow{kind: flowTail, ret: st.regs[regSP], ra: st.regs[regLR]}
}

// pushA64 is "stp x16, x30, [sp, #-16]!", the first instruction of a procedure linkage table.
const pushA64 = 0xa9bf7bf0

// pltHeadA64 has masks and bits of the instructions from there to the jump by x17: adrp x16, ldr x17, add x16.
var pltHeadA64 = [...][2]uint32{{0x9f00001f, 0x90000010}, {0xffc003ff, 0xf9400211}, {0xff8003ff, 0x91000210}}

// pltJumpA64 is for that jump, to the dynamic linker's resolver, which pops the two words and jumps to the function.
func pltJumpA64(st *state) flow {
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
	return at.isStart(regFP) && above.isStart(regLR)
}

func callBeforeA64(s *Source, ret uint64) (frames.Call, bool) {
	b := s.buf[:4]
	if ret < 4 || ret%4 != 0 || s.opt.Code.ReadCode(ret-4, b) < 4 {
		return frames.Call{}, false
	}
	w := a64(binary.LittleEndian.Uint32(b))
	if w.is(0xfc000000, 0x94000000) {
		return frames.Call{Target: ret - 4 + uint64(4*w.signed(0, 26)), Direct: true}, true
	}
	return frames.Call{}, callA64(w)
}

// include/uapi/asm-generic/unistd.h
const (
	exitA64      = 93
	exitGroupA64 = 94
)

// maxRootA64 bounds the instructions from a new thread's first one to its exit system call.
const maxRootA64 = 16

// isThreadRootA64 recognises a new thread's code in clone: blr, then exit.
func isThreadRootA64(w *interpreter, pc uint64) bool {
	st := &w.st
	c, called := callBeforeA64(w.src, pc)
	called = called && !c.Direct
	st.reset(w.src.abi, pc, 0, ^uint64(0))
	for range maxRootA64 {
		code := w.code(st.pc)
		f := execAArch64(st, code)
		if f.kind == flowEnd {
			return false
		}
		if a64(binary.LittleEndian.Uint32(code)).is(0xffe0001f, 0xd4000001) {
			n := st.regs[8]
			return called && n.kind == number && (n.off == exitA64 || n.off == exitGroupA64)
		}
		if f.kind == flowCall {
			if f.target != 0 {
				return false
			}
			called = true
		} else if f.kind != flowNext {
			return false
		}
		st.pc += uint64(f.size)
	}
	return false
}

// mov x8, #139 (rt_sigreturn, include/uapi/asm-generic/unistd.h); svc #0
var sigreturnCodeAArch64 = [][]byte{{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}}

// sigcontextAArch64 is the offset of x0 from sp: behind siginfo (128 bytes), the ucontext's head (176) and the fault
// address (arch/arm64/kernel/signal.c, rt_sigframe; uapi/asm/sigcontext.h).
const sigcontextAArch64 = 128 + 176 + 8

// x0–x30, sp, pc are adjacent
var sigreturnAArch64 = func() *frames.Row {
	regs := make([]int64, frames.NumRegs)
	for i := range regs {
		regs[i] = sigcontextAArch64 + 8*int64(i)
	}
	return signalRow(frames.ARM64SP, regs, sigcontextAArch64+8*frames.NumRegs)
}()

func switchTargetA64(st *state, code []byte) (value, bool) {
	if len(code) < 4 {
		return value{}, false
	}
	w := a64(binary.LittleEndian.Uint32(code))
	if !w.is(0xfffffc1f, 0xd61f0000) && !w.is(0xfffffc1f, 0xd65f0000) {
		return value{}, false
	}
	return st.regs[w.rn()], true
}

// leavesA64 reports whether the code has a jump out of lo to hi, or one by register, which may be a switch's.
func (w *interpreter) leavesA64(lo, hi uint64) bool {
	for pc := lo; pc < hi; pc += 4 {
		code := w.code(pc)
		if len(code) < 4 {
			return true
		}
		i := a64(binary.LittleEndian.Uint32(code))
		to := pc
		switch {
		case i.is(0xfffffc1f, 0xd61f0000), i.is(0xfefff800, 0xd61f0800): // br, and its signed forms
			return true
		case i.is(0xfc000000, 0x14000000): // b
			to += uint64(4 * i.signed(0, 26))
		case i.is(0xff000000, 0x54000000), i.is(0x7e000000, 0x34000000): // b.cond, cbz, cbnz
			to += uint64(4 * i.signed(5, 19))
		case i.is(0x7e000000, 0x36000000): // tbz, tbnz
			to += uint64(4 * i.signed(5, 14))
		}
		if to < lo || to >= hi {
			return true
		}
	}
	return false
}
