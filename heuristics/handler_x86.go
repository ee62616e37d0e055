package heuristics

// loadsTableX86 gives the register that an instruction loads from a table of addresses, mov r, [table+r*8], where one of the
// registers points to the table that callees keep; noReg for all else. V8's handlers have it in r15.
func loadsTableX86(code []byte) uint8 {
	i, ok := decodeX86(code)
	if !ok || i.vex || i.opmap != mapOne || i.op != 0x8b || !i.w || i.mod == 3 || i.index == noReg || i.base == noReg || i.pfx != 0 {
		return noReg
	}
	if i.base != hwBX && (i.base < 12 || i.base > 15) {
		return noReg
	}
	return i.reg
}

// jumpsByX86 reports whether an instruction jumps to where that register says.
func jumpsByX86(code []byte, reg uint8) bool {
	i, ok := decodeX86(code)
	return ok && !i.vex && i.opmap == mapOne && i.op == 0xff && i.reg&7 == 4 && i.mod == 3 && i.rm == reg
}
