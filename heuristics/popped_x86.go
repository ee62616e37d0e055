// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// Popped implements [frames.PoppedRegisters].
func (s *Source) Popped(pc frames.Addr, n int) (reg uint8, ok bool) {
	if s.abi == nil || s.abi.popped == nil || s.opt.Code == nil || n < 1 {
		return 0, false
	}
	return s.abi.popped(s, pc, n)
}

// maxPopX86 is the length of a pop: REX and opcode.
const maxPopX86 = 2

// poppedX86 reads backwards from pc, and accepts only pops, or one "leave". As bytes decode backwards in several ways,
// a pop or a return must follow at pc.
func poppedX86(s *Source, pc uint64, n int) (reg uint8, ok bool) {
	ahead := s.buf[:maxPopX86]
	ahead = ahead[:max(0, min(s.opt.Code.ReadCode(pc, ahead), len(ahead)))]
	if !endsFunctionX86(ahead) {
		return 0, false
	}
	returns := ahead[0] == 0xc3
	size := n * maxPopX86
	if size > len(s.buf) {
		return 0, false
	}
	b := s.buf[:size]
	for size > 0 && s.opt.Code.ReadCode(pc-uint64(size), b[:size]) < size {
		size-- // the code may begin later
	}
	b = b[:size]
	for k := 1; ; k++ {
		if len(b) == 0 {
			return 0, false
		}
		reg, size = popEndingX86(b)
		if size == 0 {
			return frames.X86RBP, k == 1 && n == 1 && b[len(b)-1] == 0xc9 && returns // leave, ret
		}
		if k == n {
			return reg, true
		}
		b = b[:len(b)-size]
	}
}

// popEndingX86 returns register and length of the pop that ends b; 0: none.
func popEndingX86(b []byte) (reg uint8, size int) {
	op := b[len(b)-1]
	if op&^7 != 0x58 {
		return 0, 0
	}
	if len(b) > 1 && b[len(b)-2] == 0x41 { // REX.B
		return 8 + op&7, 2
	}
	return dwarfX86(op & 7), 1
}

func endsFunctionX86(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	switch op := b[0]; {
	case op&^7 == 0x58, op == 0xc3, op == 0xc2, op == 0xe9, op == 0xeb:
		return true
	case op == 0x41:
		return len(b) > 1 && b[1]&^7 == 0x58
	case op == 0xf3 || op == 0xf2:
		return len(b) > 1 && b[1] == 0xc3
	}
	return false
}

// maxRestoredAtReturn bounds the instructions: set the stack pointer, pop the register that had it, return.
const maxRestoredAtReturn = 3

// RestoredAtReturn returns the callee-saved registers, as a set of DWARF numbers, that straight code from pc, a module
// address, to a return does not change: they have the caller's values; 0 if no return follows. Where GCC has realigned
// a stack, call frame information gives places by the frame pointer even after its pop.
func (s *Source) RestoredAtReturn(pc frames.Addr) (kept uint32) {
	if s.abi == nil || s.abi.ra != noReg || s.opt.Code == nil || s.opt.JIT {
		return 0
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(pc, 0, ^uint64(0))
	w.lastFlow = flow{}
	for range maxRestoredAtReturn {
		if w.stepStraight() && w.lastFlow.kind == flowNext {
			continue
		}
		if w.lastFlow.kind != flowReturn {
			return 0
		}
		for _, reg := range s.abi.calleeSaved {
			if w.st.regs[reg].isStartValue(reg) {
				kept |= 1 << s.abi.dwarf(reg)
			}
		}
		return kept
	}
	return 0
}
