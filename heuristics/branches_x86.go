// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/x86"
)

// maxCallX86 is the length of FF /2 with SIB and 32-bit displacement.
const maxCallX86 = 7

// callBeforeX86 returns the call that ends at ret: E8, or FF /2, without prefixes.
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
	if c, ok := s.directCallX86(ret, b); ok {
		return c, true
	}
	return frames.Call{}, isIndirectCallX86(b)
}

// directCallX86 returns a call by E8. Its target must be code, except from JIT code.
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

// isJumpThroughWordX86 recognises a PLT entry: the call's target is unknown.
func isJumpThroughWordX86(b []byte) bool {
	if len(b) >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa { // endbr64
		b = b[4:]
	}
	if len(b) > 0 && b[0] == 0xf2 { // bnd
		b = b[1:]
	}
	return len(b) >= 2 && b[0] == 0xff && b[1] == 0x25
}

// isIndirectCallX86 reports whether b ends with FF /2, of any length.
func isIndirectCallX86(b []byte) bool {
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

func (w *interpreter) hasTailCallX86(lo, hi uint64) bool {
	for pc := lo; pc < hi; {
		i, ok := x86.Decode(w.code(pc))
		if !ok {
			return true
		}
		pc += uint64(i.Size)
		if to, jumps := i.Jump(pc); jumps && (to < lo || to >= hi) {
			return true
		}
	}
	return false
}

// switchTargetX86 returns the target of a jump by register or a return. A return also pops.
func switchTargetX86(st *symbolicState, code []byte) (value, bool) {
	i, ok := x86.Decode(code)
	if !ok || i.VEX || i.Map != x86.MapOne {
		return value{}, false
	}
	switch {
	case i.Op == 0xff && i.Reg&7 == 4 && i.Mod == 3:
		return st.regs[i.RM], true
	case i.Op == 0xc3:
		ra := st.load(st.regs[hwSP])
		stepPopX86(st, noReg)
		return ra, true
	}
	return value{}, false
}

// isTrapX86 recognises hlt and ud2.
func isTrapX86(code []byte) bool {
	return bytes.HasPrefix(code, []byte{0xf4}) || bytes.HasPrefix(code, []byte{0x0f, 0x0b})
}

// endsInJumpX86 recognises jmp reg, and ret.
func endsInJumpX86(b []byte) bool {
	return b[2] == 0xff && b[3]&0xf8 == 0xe0 || b[3] == 0xc3
}
