package heuristics

import "encoding/binary"

// departsA64 reports whether the instruction is br or ret, and gives the address that it goes to.
func departsA64(st *state, code []byte) (value, bool) {
	if len(code) < 4 {
		return value{}, false
	}
	w := a64(binary.LittleEndian.Uint32(code))
	if !w.is(0xfffffc1f, 0xd61f0000) && !w.is(0xfffffc1f, 0xd65f0000) {
		return value{}, false
	}
	return st.regs[w.rn()], true
}
