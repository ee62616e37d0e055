// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// # Code that forwards a call
//
// Runtimes generate code that looks up a target and jumps to it (Mono's IMT thunks and delegate trampolines), with the
// stack as the call left it, from an aligned address behind padding.

const (
	thunkAlign = 16 // bytes
	thunkBytes = 64 // from the start to pc
	thunkSteps = 24 // instructions read
)

func (p *patterns) thunkFrame(q frames.Query) (finding, bool) {
	if !p.src.opt.JIT || q.AfterCall || p.abi.ra != noReg {
		return finding{}, false
	}
	for start := q.PC &^ (thunkAlign - 1); start+thunkBytes > q.PC && start > thunkAlign; start -= thunkAlign {
		if p.isPadded(start) {
			return finding{cfa: p.abi.cfaAtEntry()}, p.isThunk(start, q.PC)
		}
	}
	return finding{}, false
}

// isPadded reports whether two bytes 0, or two int3, precede start. Loops are aligned with nops.
func (p *patterns) isPadded(start uint64) bool {
	b := p.code(start - 2)
	return len(b) >= 3 && b[0] == b[1] && b[1] != b[2] && (b[0] == 0 || b[0] == 0xcc)
}

// isThunk reports whether no path from start over pc to a jump out changes stack or callee-saved registers. Code behind
// a jump is read only if a branch leads there.
func (p *patterns) isThunk(start, pc uint64) bool {
	p.begin(start, everywhere)
	st := &p.st
	reachesPC, furthest := false, start // furthest: target of a branch
	for range thunkSteps {
		reachesPC = reachesPC || st.pc == pc
		f := p.step()
		if !p.keepsAll() {
			return false
		}
		switch f.kind {
		case flowNext:
		case flowCond:
			if f.target < st.pc { // a loop
				return false
			}
			furthest = max(furthest, f.target)
		case flowJump, flowIndirect, flowTail:
			if st.pc > furthest {
				return reachesPC
			}
		default:
			return false
		}
	}
	return false
}

// keepsAll reports whether the stack pointer and the callee-saved registers have their start values.
func (p *patterns) keepsAll() bool {
	for _, reg := range p.abi.calleeSaved {
		if !p.st.regs[reg].isStartValue(reg) {
			return false
		}
	}
	return p.st.regs[p.abi.sp].isStartValue(p.abi.sp)
}
