// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/x86"
)

// maxCallX86 is the length of FF /2 with SIB and 32-bit displacement.
const maxCallX86 = 7

// callBeforeX86 returns the call that ends at ret: E8, or FF /2. Prefixes are not read.
func callBeforeX86(s *Source, ret uint64) (frames.Call, bool) {
	buf := s.buf[:maxCallX86]
	n := maxCallX86
	for n >= 2 && s.opt.Code.ReadCode(ret-uint64(n), buf[:n]) < n {
		n-- // the code may begin later
	}
	if n < 2 {
		return frames.Call{}, false
	}
	b := buf[:n]
	if c, ok := s.directX86(ret, b); ok {
		return c, true
	}
	return frames.Call{}, indirectCallX86(b)
}

// directX86 returns a call by E8. Its target must be code, except in JIT code, which calls out of its module.
func (s *Source) directX86(ret uint64, b []byte) (frames.Call, bool) {
	if len(b) < 5 || b[len(b)-5] != 0xe8 {
		return frames.Call{}, false
	}
	target := ret + uint64(int64(int32(binary.LittleEndian.Uint32(b[len(b)-4:]))))
	n := max(0, min(s.opt.Code.ReadCode(target, s.buf[maxCallX86:]), len(s.buf)-maxCallX86))
	if !s.opt.JIT && n < 1 {
		return frames.Call{}, false
	}
	if throughWordX86(s.buf[maxCallX86 : maxCallX86+n]) {
		return frames.Call{}, true
	}
	return frames.Call{Target: target, Direct: true}, true
}

// throughWordX86 recognises a PLT entry, a jump through a word: the call's target is unknown.
func throughWordX86(b []byte) bool {
	if len(b) >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa { // endbr64
		b = b[4:]
	}
	if len(b) > 0 && b[0] == 0xf2 { // bnd
		b = b[1:]
	}
	return len(b) >= 2 && b[0] == 0xff && b[1] == 0x25
}

// indirectCallX86 reports whether b ends with FF /2, of any length.
func indirectCallX86(b []byte) bool {
	for _, n := range [...]int{2, 3, 4, 6, 7} {
		if n > len(b) {
			return false
		}
		c := b[len(b)-n:]
		if c[0] != 0xff || c[1]>>3&7 != 2 {
			continue
		}
		if i, ok := x86.Decode(c); ok && int(i.Size) == n {
			return true
		}
	}
	return false
}

// # Code that forwards a call
//
// Runtimes generate code that looks up a target and jumps to it (Mono's IMT thunks and delegate trampolines). No path
// leads to a return, but the stack stays as the call left it. The first instruction is at an aligned address behind
// padding.

const (
	thunkAlign = 16 // of the start, in bytes
	thunkBytes = 64 // from the start to pc
	thunkSteps = 24 // instructions read
)

// isThunk reports whether pc is in such code: no path from an aligned start behind padding over pc to a jump out
// changes the stack.
func (s *Source) isThunk(w *interpreter, pc uint64) bool {
	for start := pc &^ (thunkAlign - 1); start+thunkBytes > pc && start > thunkAlign; start -= thunkAlign {
		if s.padded(start) {
			return s.isThunkFrom(w, start, pc)
		}
	}
	return false
}

// padded reports whether two bytes 0, or two int3, precede start. Loops are aligned with nops.
func (s *Source) padded(start uint64) bool {
	b := s.buf[:3]
	return s.opt.Code.ReadCode(start-2, b) == 3 && b[0] == b[1] && b[1] != b[2] && (b[0] == 0 || b[0] == 0xcc)
}

// isThunkFrom is isThunk from a given start. Code behind a jump is read only if a branch leads there.
func (s *Source) isThunkFrom(w *interpreter, from, pc uint64) bool {
	st := &w.st
	st.reset(s.abi, from, 0, ^uint64(0))
	found, furthest := false, from
	for range thunkSteps {
		at := st.pc
		found = found || at == pc
		f := s.abi.exec(st, w.code(at))
		next := at + uint64(f.size)
		if !s.keepsAll(st) {
			return false
		}
		switch f.kind {
		case flowNext:
		case flowCond:
			if f.target > 1<<31 { // a loop
				return false
			}
			furthest = max(furthest, next+f.target)
		case flowJump, flowIndirect, flowTail:
			if next > furthest {
				return found
			}
		default:
			return false
		}
		st.pc = next
	}
	return false
}

func (s *Source) keepsAll(st *state) bool {
	for _, reg := range s.abi.kept {
		if !st.regs[reg].isStart(reg) {
			return false
		}
	}
	return st.regs[s.abi.sp].isStart(s.abi.sp)
}

// thunkFrame is a frame with a return address only.
func (s *Source) thunkFrame() finding { return finding{cfa: start(s.abi.sp).plus(s.abi.entry)} }

// Popped implements [frames.PoppedRegisters].
func (s *Source) Popped(pc frames.Addr, n int) (reg uint8, ok bool) {
	if s.abi == nil || s.abi.popped == nil || s.opt.Code == nil || n < 1 {
		return 0, false
	}
	return s.abi.popped(s, pc, n)
}

// maxPopX86 is the length of a pop: REX and opcode.
const maxPopX86 = 2

// poppedX86 reads backwards from pc, and accepts only pops, or one "leave". Bytes can be decoded backwards in several
// ways: a further pop or a return must follow at pc.
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

// popEndingX86 returns the register of the pop that ends b, and its length, 0 if there is none.
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

// maxReturning bounds the instructions up to a return: set the stack pointer, pop the register that had it, return.
const maxReturning = 3

// AboutToReturn implements [frames.RestoredRegisters].
func (s *Source) AboutToReturn(pc frames.Addr) (kept uint32) {
	if s.abi == nil || s.abi.ra != noReg || s.opt.Code == nil || s.opt.JIT {
		return 0
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(pc, 0, ^uint64(0))
	w.lastFlow = flow{}
	for range maxReturning {
		if w.stepStraight() && w.lastFlow.kind == flowNext {
			continue
		}
		if w.lastFlow.kind != flowReturn {
			return 0
		}
		for _, reg := range s.abi.kept {
			if w.st.regs[reg].isStart(reg) {
				kept |= 1 << s.abi.dwarf(reg)
			}
		}
		return kept
	}
	return 0
}
