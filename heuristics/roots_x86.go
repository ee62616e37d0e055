// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"

	"prywalk/internal/x86"
)

// maxRootX86 bounds the instructions from a new thread's first one to its exit system call.
const maxRootX86 = 16

// arch/x86/entry/syscalls/syscall_64.tbl
const (
	exitX86      = 60
	exitGroupX86 = 231
)

// isThreadRootX86 recognises a new thread's code in clone and clone3, for which C libraries have no call frame
// information: a call by register, then exit. pc is before or behind the call.
func isThreadRootX86(w *interpreter, pc uint64) bool {
	if !w.mayMakeSyscall(pc) {
		return false
	}
	st := &w.st
	called := false
	if c, ok := callBeforeX86(w.src, pc); ok && !c.Direct {
		called = true
	}
	st.reset(w.src.abi, pc, 0, ^uint64(0))
	for range maxRootX86 {
		code := w.code(st.pc)
		i, ok := x86.Decode(code)
		if !ok {
			return false
		}
		if i.Map == x86.Map0F && i.Op == 0x05 {
			ax := st.regs[hwAX]
			return called && ax.kind == constant && (ax.off == exitX86 || ax.off == exitGroupX86)
		}
		f := w.exec(code)
		if f.kind == flowCall && i.Op == 0xe8 || f.kind != flowCall && f.kind != flowNext {
			return false
		}
		called = called || f.kind == flowCall
		stepMovAL(st, &i)
		st.pc += uint64(f.size)
	}
	return false
}

func (w *interpreter) mayMakeSyscall(pc uint64) bool {
	b := w.code(pc)
	return len(b) < maxRootX86*15 || bytes.Contains(b[:maxRootX86*15], []byte{0x0f, 0x05})
}

// stepMovAL interprets mov al, imm, which stepX86 does not track.
func stepMovAL(st *symbolicState, i *x86.Inst) {
	if i.Map != x86.MapOne {
		return
	}
	switch {
	case i.Op == 0xb0 && i.RM == 0:
		st.regs[hwAX] = value{kind: constant, off: int32(i.Imm & 0xff)}
	}
}

// isStackStartX86 recognises the first function of a stack: it clears rbp (outermost frame, System V ABI §3.4.1), as
// _start and Boost's fibers do, or sets rsp from a callee-saved register, as glibc's __start_context does, and ends in
// hlt.
func isStackStartX86(w *interpreter, pc uint64) bool {
	lo, hi, ok := w.src.bounds(pc)
	if !ok || hi-lo > 64 {
		return false
	}
	st, first := &w.st, true
	for st.reset(w.src.abi, lo, lo, hi); st.pc < hi; {
		code := w.code(st.pc)
		i, ok := x86.Decode(code)
		if !ok {
			return false
		}
		if marked := w.exec(code).landing; first && !marked {
			if !setsSPFromSavedX86(&i) && !clearsBPX86(&i) {
				return false
			}
			first = false
		}
		if i.Map == x86.MapOne && !i.VEX && i.Op == 0xf4 {
			return true
		}
		st.pc += uint64(i.Size)
	}
	return false
}

func clearsBPX86(i *x86.Inst) bool {
	return i.Map == x86.MapOne && !i.VEX && (i.Op == 0x31 || i.Op == 0x33) && i.Mod == 3 && i.RM == hwBP && i.Reg == hwBP
}

func setsSPFromSavedX86(i *x86.Inst) bool {
	from, to := i.Reg, i.RM
	if i.Op == 0x8b {
		from, to = to, from
	}
	return i.Map == x86.MapOne && !i.VEX && (i.Op == 0x89 || i.Op == 0x8b) && i.Mod == 3 && i.W && to == hwSP &&
		(from == hwBX || from >= 12 && from < 16)
}
