package heuristics

import "prywalk/internal/x86"

// departsX86 reports whether the instruction is a jump by register, or a return, and gives the address that it goes
// to. The stack pointer is then that of the place that it goes to.
func departsX86(st *state, code []byte) (value, bool) {
	i, ok := x86.Decode(code)
	if !ok || i.VEX || i.Map != x86.MapOne {
		return value{}, false
	}
	switch {
	case i.Op == 0xff && i.Reg&7 == 4 && i.Mod == 3:
		return st.regs[i.RM], true
	case i.Op == 0xc3:
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
		i, ok := x86.Decode(code)
		if !ok {
			return false
		}
		if marked := execX86(st, code).mark; first && !marked {
			if !takesSPX86(&i) && !clearsBPX86(&i) {
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

// clearsBPX86: xor ebp, ebp.
func clearsBPX86(i *x86.Inst) bool {
	return i.Map == x86.MapOne && !i.VEX && (i.Op == 0x31 || i.Op == 0x33) && i.Mod == 3 && i.RM == hwBP && i.Reg == hwBP
}

// takesSPX86: mov from a register that callees keep to rsp.
func takesSPX86(i *x86.Inst) bool {
	from, to := i.Reg, i.RM
	if i.Op == 0x8b {
		from, to = to, from
	}
	return i.Map == x86.MapOne && !i.VEX && (i.Op == 0x89 || i.Op == 0x8b) && i.Mod == 3 && i.W && to == hwSP &&
		(from == hwBX || from >= 12 && from < 16)
}
