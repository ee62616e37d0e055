// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// Compilers with frames of known size still push words: HotSpot's C2 in string comparison loops, C1 for a helper's
// arguments, both around collectors' barriers. The path to the return, where rsp points to the return address, shows
// how many. It need not keep any register.

// maxReturnPath is in instructions: HotSpot's SHA-512 has 5,000.
const maxReturnPath = 12000

// CFA is a canonical frame address: Reg (a DWARF number) + Off, or, if Saved, the word there (an earlier stack pointer)
// plus Add.
type CFA struct {
	Reg      uint8
	Saved    bool
	Off, Add int64
	FP       frames.RegRule // caller's frame pointer; undefined if the path does not restore it
	Straight bool           // no calls or backward jumps on the path
}

// ReturnCFA returns the CFA at pc by the first return on a path within lo and hi, or by a tail call: a jump out of
// there, or by register, behind pop rbp. Calls are assumed to preserve the stack pointer. It returns false if the stack
// pointer at the return is unknown, and on arm64.
func (s *Source) ReturnCFA(pc, lo, hi uint64) (cfa CFA, ok bool) {
	if s.abi != &abiX86 || s.opt.Code == nil || pc < lo || pc >= hi {
		return cfa, false
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(pc, lo, hi)
	for {
		if v := w.followReturnPath(); (v.kind == startRelative || v.kind == loaded) && v.base < firstUnnamedBase {
			cfa = CFA{Reg: s.abi.dwarf(v.base), Saved: v.kind == loaded, Off: int64(v.off), Add: int64(v.addend)}
			cfa.FP, cfa.Straight = s.abi.fpRule(&w.st), !w.st.weak
			return cfa, true
		}
		if w.steps >= maxReturnPath || !w.pop() {
			return cfa, false
		}
	}
}

func (a *abi) fpRule(st *symbolicState) frames.RegRule {
	switch v := st.regs[a.fp]; {
	case v.isStartValue(a.fp):
		return frames.RegRule{}
	case v.kind == loaded && v.addend == 0 && v.base < firstUnnamedBase:
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: a.dwarf(v.base), Off: int64(v.off)}
	}
	return frames.RegRule{Kind: frames.RuleUndefined}
}

// followReturnPath returns the CFA at the path's end; unknown if none. A stack pointer loaded from memory is a new
// base, so that words pushed there are known when popped.
func (w *interpreter) followReturnPath() value {
	st, f := &w.st, &w.lastFlow
	popped := false // the last instruction popped rbp
	for w.steps < maxReturnPath && st.pc >= st.lo && st.pc < st.hi {
		code := w.code(st.pc)
		if len(code) == 0 || !w.markVisited(st.pc) {
			break
		}
		w.steps++
		pops := code[0] == 0x58|hwBP
		stepX86(st, code, f)
		if sp := st.regs[hwSP]; sp.kind == loaded {
			st.spLoadedFrom = sp
			st.regs[hwSP] = st.newUnnamedBase()
			st.loadedFromBase = st.regs[hwSP].base
		}
		st.pc += uint64(f.size)
		target := st.pc + f.target
		inside := target >= st.lo && target < st.hi
		switch f.kind {
		case flowReturn:
			return st.fromSaved(f.ret)
		case flowCall:
			st.weak = true
		case flowJump:
			if !inside && popped {
				return st.fromSaved(st.regs[hwSP].plus(8))
			}
			st.weak = st.weak || target <= st.pc
			st.enter(target)
		case flowCond:
			if inside {
				w.push(target)
			}
		case flowIndirect, flowTail:
			if popped {
				return st.fromSaved(st.regs[hwSP].plus(8))
			}
			return value{}
		case flowEnd:
			return value{}
		}
		popped = pops
	}
	return value{}
}

// fromSaved expresses an address relative to the last loaded stack pointer by the word it was loaded from.
func (st *symbolicState) fromSaved(v value) value {
	if v.kind == startRelative && st.loadedFromBase != 0 && v.base == st.loadedFromBase {
		return st.spLoadedFrom.plus(int64(v.off))
	}
	return v
}

// maxKeepsSP is in instructions: behind its call a barrier restores all general and 32 vector registers at most.
const maxKeepsSP = 64

// KeepsSP reports whether the stack pointer is unchanged from pc to the next jump, call or return, within 64
// instructions. It is true on arm64.
func (s *Source) KeepsSP(pc uint64) bool {
	if s.abi != &abiX86 || s.opt.Code == nil {
		return true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(pc, 0, ^uint64(0))
	st, f := &w.st, &w.lastFlow
	for range maxKeepsSP {
		stepX86(st, w.code(st.pc), f)
		if !st.regs[hwSP].isStartValue(hwSP) {
			return false
		}
		if f.kind != flowNext {
			return true
		}
		st.pc += uint64(f.size)
	}
	return true
}

// ReturnPlace is the place of the return address in code without a frame.
type ReturnPlace struct {
	RA    frames.RegRule // a register, or memory relative to one
	Reg   uint8
	Off   int64  // CFA − Reg
	Entry uint64 // where the code was entered, with the return address at the stack pointer
}

// maxEntries bounds the entries, maxRunAllPaths the instructions. A HotSpot adapter has three and 300.
const (
	maxEntries     = 16
	maxRunAllPaths = 2000
)

// ReturnAddress follows the instructions from lo, where the return address is at the stack pointer, to pc. Code behind
// a jump that is no jump target counts as entered likewise. It returns false if no path leads to pc, rbp is not the
// caller's there, and on arm64.
func (s *Source) ReturnAddress(pc, lo, hi uint64) (r ReturnPlace, ok bool) {
	if s.abi != &abiX86 || s.opt.Code == nil || pc < lo || pc >= hi {
		return r, false
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(lo, lo, hi)
	var behind [maxEntries]uint64 // places behind jumps
	for n, entry := 0, lo; ; {
		if w.runAllPathsTo(pc, behind[:], &n) {
			return w.currentReturn(entry)
		}
		if entry, ok = w.nextEntry(behind[:n], pc); !ok || w.steps >= maxRunAllPaths {
			return r, false
		}
		w.st.reset(w.src.abi, entry, lo, hi)
	}
}

// runAllPathsTo follows all paths until one is at pc, and notes places behind jumps.
func (w *interpreter) runAllPathsTo(pc uint64, behind []uint64, n *int) bool {
	st, f := &w.st, &w.lastFlow
	for {
		for w.steps < maxRunAllPaths && st.pc >= st.lo && st.pc < st.hi {
			if st.pc == pc {
				return true
			}
			code := w.code(st.pc)
			if len(code) == 0 || !w.markVisited(st.pc) {
				break
			}
			w.steps++
			stepX86(st, code, f)
			if sp := st.regs[hwSP]; sp.kind == startRelative && sp.base == hwSP && sp.off > 0 {
				st.startWordPopped = true
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

// nextEntry returns the first place behind a jump, up to pc, that no path has reached.
func (w *interpreter) nextEntry(behind []uint64, pc uint64) (entry uint64, ok bool) {
	for _, at := range behind {
		if at <= pc && w.visited.find(at) == nil && (!ok || at < entry) {
			entry, ok = at, true
		}
	}
	return entry, ok
}

func (w *interpreter) currentReturn(entry uint64) (r ReturnPlace, ok bool) {
	st := &w.st
	if !st.regs[hwBP].isStartValue(hwBP) {
		return r, false
	}
	at, held := w.returnSlot()
	r.Entry = entry
	r.Reg, r.Off, ok = w.asRegPlusOffset(startValue(hwSP).plus(8))
	if held {
		reg, off, _ := w.asRegPlusOffset(at)
		r.RA = frames.RegRule{Kind: frames.RuleRegOffset, Reg: reg, Off: off}
		if !ok || at.base != hwSP { // an adapter has moved it to below an aligned address
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

func (w *interpreter) returnSlot() (at value, ok bool) {
	st := &w.st
	ra, sp := value{kind: loaded, base: hwSP}, st.regs[hwSP]
	if first := startValue(hwSP); !st.startWordPopped && st.load(first) == ra {
		if _, _, ok := w.asRegPlusOffset(first); ok {
			return first, true
		}
	}
	for _, s := range st.slots[:st.nslots] {
		if s.val == ra && sp.kind == startRelative && sp.base == s.base && s.off >= sp.off {
			return value{kind: startRelative, base: s.base, off: s.off}, true
		}
	}
	return at, false
}

// asRegPlusOffset expresses an address by a register's DWARF number, the stack pointer's if possible, and an offset.
func (w *interpreter) asRegPlusOffset(at value) (reg uint8, off int64, ok bool) {
	for i := range uint8(16) {
		reg := (hwSP + i) % 16
		if v := w.st.regs[reg]; v.kind == startRelative && v.base == at.base {
			return w.src.abi.dwarf(reg), int64(at.off) - int64(v.off), true
		}
	}
	return 0, 0, false
}
