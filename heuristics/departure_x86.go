package heuristics

// departsX86 reports whether the instruction is a jump by register, or a return, and gives the address that it goes
// to. The stack pointer is then that of the place that it goes to.
func departsX86(st *state, code []byte) (value, bool) {
	i, ok := decodeX86(code)
	if !ok || i.vex || i.opmap != mapOne {
		return value{}, false
	}
	switch {
	case i.op == 0xff && i.reg&7 == 4 && i.mod == 3:
		return st.regs[i.rm], true
	case i.op == 0xc3:
		ra := st.load(st.regs[hwSP])
		popX86(st, noReg)
		return ra, true
	}
	return value{}, false
}

// startsElsewhereX86 recognises the first function of a stack by what it does first: it makes the frame pointer zero,
// which marks the outermost frame (System V ABI §3.4.1), as a program's _start and Boost's or other people's fibers
// do; or it takes the stack pointer from a register that a caller would expect back. So does glibc's
// __start_context, to which the first function of a stack from makecontext returns. And it ends in hlt, which no
// program may execute.
func startsElsewhereX86(w *interpreter, pc uint64) bool {
	lo, hi, ok := w.src.bounds(pc)
	if !ok || hi-lo > 64 {
		return false
	}
	st, first := &w.st, true
	for st.reset(w.src.abi, lo, lo, hi); st.pc < hi; {
		code := w.code(st.pc)
		i, ok := decodeX86(code)
		if !ok {
			return false
		}
		if marked := execX86(st, code).mark; first && !marked {
			if !takesSPX86(&i) && !clearsBPX86(&i) {
				return false
			}
			first = false
		}
		if i.opmap == mapOne && !i.vex && i.op == 0xf4 {
			return true
		}
		st.pc += uint64(i.size)
	}
	return false
}

// clearsBPX86: xor ebp, ebp.
func clearsBPX86(i *instX86) bool {
	return i.opmap == mapOne && !i.vex && (i.op == 0x31 || i.op == 0x33) && i.mod == 3 && i.rm == hwBP && i.reg == hwBP
}

// takesSPX86: mov from a register that callees keep to rsp.
func takesSPX86(i *instX86) bool {
	from, to := i.reg, i.rm
	if i.op == 0x8b {
		from, to = to, from
	}
	return i.opmap == mapOne && !i.vex && (i.op == 0x89 || i.op == 0x8b) && i.mod == 3 && i.w && to == hwSP &&
		(from == hwBX || from >= 12 && from < 16)
}
