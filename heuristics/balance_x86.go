// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// A compiler that knows the size of its frames still pushes a word here and there. HotSpot's C2 does inside of loops
// that compare strings, C1 for the arguments of a helper, both around calls of a collector's barrier. There the stack
// pointer is lower than the frame's size says. How much lower shows on the way to the return, where it has to point to
// the return address again. That way is followed here, and nothing is asked of the registers.

// maxBalance bounds the instructions that are read: HotSpot's SHA-512 has 5,000.
const maxBalance = 12000

// CFA says where the canonical frame address is: Off above a register, or, if Saved, Add above the word that lies
// there, an earlier stack pointer. Registers have DWARF's numbers.
type CFA struct {
	Reg      uint8
	Saved    bool
	Off, Add int64
	FP       frames.RegRule // of the caller's frame pointer, undefined if the way does not restore it
	// Straight: no call is on the way, and no jump back. So it is one that the thread will take, but for branches.
	Straight bool
}

// ReturnCFA gives the CFA of the code at pc. It follows the instructions from there, inside of lo and hi, to the first
// return that they lead to. A jump elsewhere behind the pop of rbp ends the way, too: with it a frame is left for
// another function, whose address may be in a register. Calls are taken to leave the stack pointer as it is. False if
// no way leads to a return at which the stack pointer is known, and on arm64.
func (s *Source) ReturnCFA(pc, lo, hi uint64) (cfa CFA, ok bool) {
	if s.abi != &abiX86 || s.o.Code == nil || pc < lo || pc >= hi {
		return cfa, false
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(pc, lo, hi)
	for {
		if v := w.returnPath(); v.kind == initial || v.kind == loaded {
			if v.base >= firstAnon {
				return cfa, false
			}
			cfa = CFA{Reg: s.abi.dwarf(v.base), Saved: v.kind == loaded, Off: int64(v.off), Add: int64(v.add)}
			cfa.FP, cfa.Straight = s.abi.fpRule(&w.st), !w.st.weak
			return cfa, true
		}
		if w.steps >= maxBalance || !w.pop() {
			return cfa, false
		}
	}
}

// fpRule gives where the frame pointer that a path ends with was at its start.
func (a *abi) fpRule(st *state) frames.RegRule {
	switch v := st.regs[a.fp]; {
	case v.isStart(a.fp):
		return frames.RegRule{}
	case v.kind == loaded && v.add == 0 && v.base < firstAnon:
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: a.dwarf(v.base), Off: int64(v.off)}
	}
	return frames.RegRule{Kind: frames.RuleUndefined}
}

// returnPath follows a path to its end, and gives the CFA that a return there shows; an unknown value if it is none.
func (w *interpreter) returnPath() value {
	st, f := &w.st, &w.fl
	left := false // rbp was popped by the instruction before
	for w.steps < maxBalance && st.pc >= st.lo && st.pc < st.hi {
		code := w.code(st.pc)
		if len(code) == 0 || !w.mark(st.pc) {
			break
		}
		w.steps++
		pops := code[0] == 0x58|hwBP
		stepX86(st, code, f)
		st.pc += uint64(f.size)
		target := st.pc + f.target
		inside := target >= st.lo && target < st.hi
		switch f.kind {
		case flowReturn:
			return f.ret
		case flowCall:
			st.weak = true
		case flowJump:
			if !inside && left {
				return st.regs[hwSP].plus(8)
			}
			st.weak = st.weak || target <= st.pc
			st.enter(target)
		case flowCond:
			if inside {
				w.push(target)
			}
		case flowIndirect, flowTail:
			if left {
				return st.regs[hwSP].plus(8)
			}
			return value{}
		case flowEnd:
			return value{}
		}
		left = pops
	}
	return value{}
}

// maxLevel is more than what a barrier gives back behind its call: all general registers and 32 of vectors.
const maxLevel = 64

// LevelAfter reports whether the stack pointer stays as it is from pc up to the next jump, call or return, as far as
// maxLevel instructions show.
func (s *Source) LevelAfter(pc uint64) bool {
	if s.abi != &abiX86 || s.o.Code == nil {
		return true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(pc, 0, ^uint64(0))
	st, f := &w.st, &w.fl
	for range maxLevel {
		stepX86(st, w.code(st.pc), f)
		if !st.regs[hwSP].isStart(hwSP) {
			return false
		}
		if f.kind != flowNext {
			return true
		}
		st.pc += uint64(f.size)
	}
	return true
}

// Return says where a return address is in code that has no frame of its own.
type Return struct {
	// RA is a register, or a place relative to one.
	RA frames.RegRule
	// Reg and Off give the CFA.
	Reg uint8
	Off int64
	// Entry is where that code was entered, with the return address at the stack pointer.
	Entry uint64
}

// maxEntries bounds how often a piece of code is entered from outside, and maxReach the instructions that are read:
// an adapter of HotSpot's has three entries, and 300 instructions.
const (
	maxEntries = 16
	maxReach   = 2000
)

// ReturnAddress follows the instructions from lo, where the return address is at the stack pointer, to pc, and gives
// where it is there. What lies behind a jump and is not jumped to is entered from outside, as lo is. False if no way
// leads to pc, if the caller's rbp is not in its place there, and on arm64.
func (s *Source) ReturnAddress(pc, lo, hi uint64) (r Return, ok bool) {
	if s.abi != &abiX86 || s.o.Code == nil || pc < lo || pc >= hi {
		return r, false
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(lo, lo, hi)
	var behind [maxEntries]uint64 // jumps, in the order in which they were met
	for n, entry := 0, lo; ; {
		if w.reach(pc, behind[:], &n) {
			return w.returnNow(entry)
		}
		if entry, ok = w.nextEntry(behind[:n], pc); !ok || w.steps >= maxReach {
			return r, false
		}
		w.st.reset(w.src.abi, entry, lo, hi)
	}
}

// reach follows all paths until one is at pc, and notes the places behind jumps.
func (w *interpreter) reach(pc uint64, behind []uint64, n *int) bool {
	st, f := &w.st, &w.fl
	for {
		for w.steps < maxReach && st.pc >= st.lo && st.pc < st.hi {
			if st.pc == pc {
				return true
			}
			code := w.code(st.pc)
			if len(code) == 0 || !w.mark(st.pc) {
				break
			}
			w.steps++
			stepX86(st, code, f)
			if sp := st.regs[hwSP]; sp.kind == initial && sp.base == hwSP && sp.off > 0 {
				st.taken = true
			}
			st.pc += uint64(f.size)
			if f.kind == flowCond {
				w.push(st.pc + f.target)
			}
			if f.kind == flowNext || f.kind == flowCall || f.kind == flowCond {
				continue
			}
			if *n < len(behind) {
				behind[*n] = st.pc
				*n++
			}
			if f.kind != flowJump {
				break
			}
			st.enter(st.pc + f.target)
		}
		if !w.pop() {
			return false
		}
	}
}

// nextEntry gives the first place behind a jump, up to pc, that no path has led to.
func (w *interpreter) nextEntry(behind []uint64, pc uint64) (entry uint64, ok bool) {
	for _, at := range behind {
		if at <= pc && w.seen.find(at) == nil && (!ok || at < entry) {
			entry, ok = at, true
		}
	}
	return entry, ok
}

// returnNow gives where the return address is in w.st.
func (w *interpreter) returnNow(entry uint64) (r Return, ok bool) {
	st := &w.st
	if !st.regs[hwBP].isStart(hwBP) {
		return r, false
	}
	at, held := w.returnSlot()
	r.Entry = entry
	r.Reg, r.Off, ok = w.byRegister(start(hwSP).plus(8))
	if held {
		reg, off, _ := w.byRegister(at)
		r.RA = frames.RegRule{Kind: frames.RuleRegOffset, Reg: reg, Off: off}
		if !ok || at.base != hwSP { // an adapter has moved it, below an aligned address
			r.Reg, r.Off = reg, off+8
		}
		return r, true
	}
	for reg, v := range st.regs[:16] {
		if v == (value{kind: loaded, base: hwSP}) {
			r.RA = frames.RegRule{Kind: frames.RuleReg, Reg: w.src.abi.dwarf(uint8(reg))}
			return r, ok
		}
	}
	return r, false
}

// returnSlot gives the place in memory, relative to a register of now, that has the return address.
func (w *interpreter) returnSlot() (at value, ok bool) {
	st := &w.st
	ra, sp := value{kind: loaded, base: hwSP}, st.regs[hwSP]
	if first := start(hwSP); !st.taken && st.load(first) == ra {
		if _, _, ok := w.byRegister(first); ok {
			return first, true
		}
	}
	for _, s := range st.slots[:st.nslots] {
		if s.val == ra && sp.kind == initial && sp.base == s.base && s.off >= sp.off {
			return value{kind: initial, base: s.base, off: s.off}, true
		}
	}
	return at, false
}

// byRegister gives an address relative to a register of now, with DWARF's number; the stack pointer, if it can be.
func (w *interpreter) byRegister(at value) (reg uint8, off int64, ok bool) {
	for i := range uint8(16) {
		reg := (hwSP + i) % 16
		if v := w.st.regs[reg]; v.kind == initial && v.base == at.base {
			return w.src.abi.dwarf(reg), int64(at.off) - int64(v.off), true
		}
	}
	return 0, 0, false
}
