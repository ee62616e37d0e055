package heuristics

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/x86"
)

// maxCallX86 is the length of the longest call that counts: FF /2 with SIB and
// 32-bit displacement.
const maxCallX86 = 7

// callBeforeX86 looks for a call that ends at ret: E8 with a 32-bit distance, or
// FF /2 with any operand. Prefixes (REX, bnd, notrack, data16) come before that
// and need not be read.
func callBeforeX86(s *Source, ret uint64) (frames.Call, bool) {
	buf := s.buf[:maxCallX86]
	n := maxCallX86
	for n >= 2 && s.o.Code.ReadCode(ret-uint64(n), buf[:n]) < n {
		n-- // the code may begin less than that before ret
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

// directX86 reads E8 and its distance; the target must be code, unless a JIT
// compiler's code may call out of its module.
func (s *Source) directX86(ret uint64, b []byte) (frames.Call, bool) {
	if len(b) < 5 || b[len(b)-5] != 0xe8 {
		return frames.Call{}, false
	}
	target := ret + uint64(int64(int32(binary.LittleEndian.Uint32(b[len(b)-4:]))))
	n := max(0, min(s.o.Code.ReadCode(target, s.buf[maxCallX86:]), len(s.buf)-maxCallX86))
	if !s.o.JIT && n < 1 {
		return frames.Call{}, false
	}
	if throughWordX86(s.buf[maxCallX86 : maxCallX86+n]) {
		return frames.Call{}, true
	}
	return frames.Call{Target: target, Direct: true}, true
}

// throughWordX86 reports code that is nothing but a jump through a word of memory, an
// entry of a procedure linkage table: who is called that way is not known.
func throughWordX86(b []byte) bool {
	if len(b) >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa { // endbr64
		b = b[4:]
	}
	if len(b) > 0 && b[0] == 0xf2 { // bnd
		b = b[1:]
	}
	return len(b) >= 2 && b[0] == 0xff && b[1] == 0x25
}

// indirectCallX86 tries each length that FF /2 can have.
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
