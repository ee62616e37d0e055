// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/code/x86"
)

const maxTailCallBytes = 64 << 10

// EndsInTailCall implements [frames.TailCalls]. It is also true if the bounds are unknown or too far apart, at an
// indirect jump (perhaps of a switch), and at an invalid instruction.
func (s *Source) EndsInTailCall(start frames.ModuleAddr) bool {
	fn, ok := s.bounds(start)
	if s.abi == nil || !ok || fn.lo != start || fn.hi-fn.lo > maxTailCallBytes {
		return true
	}
	a := s.analysis()
	defer a.free()
	for a.begin(start, fn); a.st.pc < fn.hi; {
		switch f := a.step(); {
		case f.size == 0, f.kind == flowIndirect, f.kind == flowTail:
			return true
		case (f.kind == flowCond || f.kind == flowJump) && !fn.has(f.target):
			return true
		}
	}
	return false
}

const maxCallX86 = 7

func callBeforeX86(s *Source, ret uint64) (frames.Call, bool) {
	b := s.codeBefore(ret, s.buf[:maxCallX86])
	if c, ok := s.directCallX86(ret, b); ok {
		return c, true
	}
	return frames.Call{}, isIndirectCallX86(b)
}

// codeBefore reads the bytes before pc into buf; fewer where the code begins later.
func (s *Source) codeBefore(pc uint64, buf []byte) []byte {
	n := int(min(uint64(len(buf)), pc))
	for n > 0 && s.opt.Code.ReadCode(pc-uint64(n), buf[:n]) < n {
		n--
	}
	return buf[:n]
}

// directCallX86 recognises E8. Except from JIT code, its target must be code.
func (s *Source) directCallX86(ret uint64, b []byte) (frames.Call, bool) {
	if len(b) < 5 || b[len(b)-5] != 0xe8 {
		return frames.Call{}, false
	}
	target := ret + uint64(int64(int32(binary.LittleEndian.Uint32(b[len(b)-4:]))))
	n := max(0, min(s.opt.Code.ReadCode(target, s.buf[maxCallX86:]), len(s.buf)-maxCallX86))
	if !s.opt.JIT && n < 1 {
		return frames.Call{}, false
	}
	if isJumpThroughWordX86(s.buf[maxCallX86 : maxCallX86+n]) {
		return frames.Call{}, true
	}
	return frames.Call{Target: target, Direct: true}, true
}

// isJumpThroughWordX86 recognises a PLT entry.
func isJumpThroughWordX86(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	b = bytes.TrimPrefix(b, []byte{0xf2})                   // bnd
	return bytes.HasPrefix(b, []byte{0xff, 0x25})
}

// isIndirectCallX86 reports whether b ends with FF /2, of any length.
func isIndirectCallX86(b []byte) bool {
	for _, n := range [...]int{2, 3, 4, 6, 7} {
		if n > len(b) {
			return false
		}
		last := b[len(b)-n:]
		if last[0] != 0xff || last[1]>>3&7 != 2 {
			continue
		}
		if i, ok := x86.Decode(last); ok && int(i.Size) == n {
			return true
		}
	}
	return false
}

// endsInJumpX86 recognises jmp reg, and ret.
func endsInJumpX86(b []byte) bool {
	return b[2] == 0xff && b[3]&0xf8 == 0xe0 || b[3] == 0xc3
}

func callBeforeARM64(s *Source, ret uint64) (frames.Call, bool) {
	b := s.buf[:4]
	if ret < 4 || ret%4 != 0 || s.opt.Code.ReadCode(ret-4, b) < 4 {
		return frames.Call{}, false
	}
	w := insnARM64(binary.LittleEndian.Uint32(b))
	if w.is(0xfc000000, 0x94000000) {
		return frames.Call{Target: ret - 4 + uint64(4*w.signed(0, 26)), Direct: true}, true
	}
	return frames.Call{}, isCallARM64(w)
}

func isJumpARM64(w insnARM64) bool {
	return w.is(0xfffffc1f, 0xd61f0000) || w.is(0xfffffc1f, 0xd65f0000)
}

func endsInJumpARM64(b []byte) bool { return isJumpARM64(insnARM64(binary.LittleEndian.Uint32(b))) }

// REX and opcode
const maxPopX86 = 2

// Popped implements [frames.PoppedRegisters] for x86-64. It reads backwards from pc, and accepts only pops, or one
// leave. As bytes decode backwards in several ways, a pop, return or jump must follow at pc.
func (s *Source) Popped(pc frames.Addr, n int) (reg uint8, ok bool) {
	if s.abi != &abiX86 || n < 1 || n*maxPopX86 > len(s.buf) {
		return 0, false
	}
	ahead := s.buf[:maxPopX86]
	ahead = ahead[:max(0, min(s.opt.Code.ReadCode(pc, ahead), len(ahead)))]
	if !endsFunctionX86(ahead) {
		return 0, false
	}
	returns := ahead[0] == 0xc3
	before := s.codeBefore(pc, s.buf[:n*maxPopX86])
	if leave := bytes.HasSuffix(before, []byte{0xc9}); leave && n == 1 {
		return frames.X86RBP, returns
	}
	for ; len(before) > 0; n-- {
		reg, size := popEndingX86(before)
		if size == 0 || n == 1 {
			return reg, size > 0
		}
		before = before[:len(before)-size]
	}
	return 0, false
}

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

// The instructions set the stack pointer, pop the register that had it, and return.
const maxRestoredAtReturn = 3

// RestoredAtReturn returns the callee-saved registers, as a set of DWARF numbers, that straight code from pc to a
// return leaves unchanged; 0 if no return follows, in JIT code, and on arm64. Where GCC has realigned a stack, call
// frame information gives places by the frame pointer even after its pop.
func (s *Source) RestoredAtReturn(pc frames.ModuleAddr) (kept uint32) {
	if s.abi == nil || s.abi.ra != noReg || s.opt.JIT {
		return 0
	}
	a := s.analysis()
	defer a.free()
	a.begin(pc, everywhere)
	for range maxRestoredAtReturn {
		switch a.step().kind {
		case flowNext:
		case flowReturn:
			for _, reg := range s.abi.calleeSaved {
				if a.st.regs[reg].isStartValue(reg) {
					kept |= 1 << s.abi.dwarf(reg)
				}
			}
			return kept
		default:
			return 0
		}
	}
	return 0
}
