// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// Compilers with frames of known size still push words: HotSpot's C2 in string comparison loops, C1 for a helper's
// arguments, both around collectors' barriers. The path to the return shows how many.

// maxReturnPath counts instructions. HotSpot's SHA-512 has 5,000.
const maxReturnPath = 12000

// CFA is a canonical frame address: Reg (a DWARF number) + Off, or, if Saved, the word there (an earlier stack pointer)
// plus Add.
type CFA struct {
	Reg      uint8
	Saved    bool
	Off, Add int64
	FP       frames.RegRule // undefined if the path does not restore it
	Straight bool           // no calls or backward jumps on the path
}

// Eval implements [frames.Expr], if Saved.
func (c CFA) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	base, ok := regs.Get(c.Reg)
	if !ok {
		return 0, false
	}
	v, ok := mem.Word(base + uint64(c.Off))
	return v + uint64(c.Add), ok
}

// ReturnCFA returns the CFA at pc by the first return on a path within lo and hi, or by a tail call: a jump out of
// there, or by register, behind pop rbp. Calls are assumed to preserve the stack pointer. It returns false if the stack
// pointer at the return is unknown, and on arm64.
func (s *Source) ReturnCFA(pc, lo, hi frames.ModuleAddr) (cfa CFA, ok bool) {
	fn := span{lo, hi}
	if s.abi != &abiX86 || !fn.has(pc) {
		return cfa, false
	}
	a := s.analysis()
	defer a.free()
	a.begin(pc, fn)
	a.limit = maxReturnPath
	r := &returnSearch{in: &a.interpreter}
	if a.isBehind(opPopBP, pc) {
		r.behindPopBP = pc
	}
	if a.runPaths(r); !r.done() {
		return cfa, false
	}
	v := r.cfa
	cfa = CFA{Reg: s.abi.dwarf(v.base), Saved: v.kind == loaded, Off: int64(v.off), Add: int64(v.addend)}
	cfa.FP, cfa.Straight = s.abi.placeOf(a.st.regs[hwBP], hwBP), !a.st.hasCallOrLoop
	return cfa, true
}

// A stack pointer loaded from memory becomes a new base: words pushed there are known.
type returnSearch struct {
	in          *interpreter
	behindPopBP uint64 // pc, behind pop rbp
	cfa         value  // unknown: none
}

func (r *returnSearch) arrive() bool         { return r.in.visit() }
func (r *returnSearch) needsPostponed() bool { return false }

func (r *returnSearch) done() bool {
	return (r.cfa.kind == startRelative || r.cfa.kind == loaded) && r.cfa.base < firstUnnamedBase
}

func (r *returnSearch) follow(f *flow) bool {
	st := &r.in.st
	if sp := st.regs[hwSP]; sp.kind == loaded {
		st.savedSPPlace = sp
		st.regs[hwSP] = st.newUnnamedBase()
		st.savedSPBase = st.regs[hwSP].base
	}
	poppedBP := r.recordPopBP(f)
	leaves := f.kind == flowIndirect || f.kind == flowTail || f.kind == flowJump && !st.function.has(f.target)
	switch {
	case f.kind == flowReturn:
		r.cfa = st.fromSaved(f.ret)
	case leaves && poppedBP:
		r.cfa = st.fromSaved(st.regs[hwSP].plus(8))
		return false
	}
	before, jumps := st.hasCallOrLoop, f.kind == flowJump || f.kind == flowCond
	st.hasCallOrLoop = before || f.kind == flowCall || jumps && f.target <= st.pc
	goesOn := r.in.goOn(f)
	if f.kind == flowCond { // not taken
		st.hasCallOrLoop = before
	}
	return goesOn
}

// recordPopBP records whether the last instruction is pop rbp, and returns whether the one before was.
func (r *returnSearch) recordPopBP(f *flow) (before bool) {
	pc := r.in.st.pc - uint64(f.size)
	before = pc == r.behindPopBP
	r.behindPopBP = 0
	if f.size > 0 && r.in.code(pc)[0] == opPopBP {
		r.behindPopBP = r.in.st.pc
	}
	return before
}

// pop rbp
const opPopBP = 0x58 | hwBP

// Behind its call, a barrier restores all general and 32 vector registers at most.
const maxKeepsSP = 64

// KeepsSP reports whether the stack pointer is unchanged from pc to the next jump, call or return, within 64
// instructions. It is true on arm64.
func (s *Source) KeepsSP(pc frames.ModuleAddr) bool {
	if s.abi != &abiX86 {
		return true
	}
	a := s.analysis()
	defer a.free()
	a.begin(pc, everywhere)
	for range maxKeepsSP {
		switch f := a.step(); {
		case f.kind != flowNext:
			return true
		case !a.st.regs[hwSP].isStartValue(hwSP):
			return false
		}
	}
	return true
}

// ReturnPlace is the place of the return address in code without a frame.
type ReturnPlace struct {
	RA    frames.RegRule // a register, or memory relative to one
	Reg   uint8
	Off   int64             // CFA − Reg
	Entry frames.ModuleAddr // where the code was entered, with the return address at the stack pointer
	Moved bool              // the stack pointer was set to another register's value at Entry, which is then the CFA
}

// A HotSpot adapter has three entries and 300 instructions.
const (
	maxEntries     = 16
	maxRunAllPaths = 2000
)

// ReturnAddress follows the instructions from lo, where the return address is at the stack pointer, to pc. Code behind
// a jump that no path reaches is entered likewise. It returns false if no path leads to pc, if rbp is not the caller's
// there, and on arm64.
func (s *Source) ReturnAddress(pc, lo, hi frames.ModuleAddr) (r ReturnPlace, ok bool) {
	fn := span{lo, hi}
	if s.abi != &abiX86 || !fn.has(pc) {
		return r, false
	}
	a := s.analysis()
	defer a.free()
	a.begin(lo, fn)
	a.limit = maxRunAllPaths
	e := &entrySearch{in: &a.interpreter, pc: pc}
	for entry := lo; ; {
		if a.runPaths(e); e.reached {
			return a.st.returnPlace(entry)
		}
		if entry, ok = e.nextEntry(); !ok || a.steps >= maxRunAllPaths {
			return r, false
		}
		a.st.reset(a.abi, entry, fn)
	}
}

type entrySearch struct {
	in      *interpreter
	pc      uint64
	reached bool
	places  [maxEntries]uint64 // behind jumps
	n       int
}

func (e *entrySearch) done() bool           { return e.reached }
func (e *entrySearch) needsPostponed() bool { return false }

func (e *entrySearch) arrive() bool {
	e.reached = e.in.st.pc == e.pc
	return !e.reached && e.in.visit()
}

func (e *entrySearch) follow(f *flow) bool {
	st := &e.in.st
	st.markStartWordPopped()
	if !f.fallsThrough() && e.n < len(e.places) {
		e.places[e.n] = st.pc
		e.n++
	}
	return e.in.goOn(f)
}

// nextEntry returns the first place behind a jump, up to pc, that no path has reached.
func (e *entrySearch) nextEntry() (entry uint64, ok bool) {
	for _, place := range e.places[:e.n] {
		if place <= e.pc && e.in.visited.find(place) == nil && (!ok || place < entry) {
			entry, ok = place, true
		}
	}
	return entry, ok
}

var returnAddressAtStart = value{kind: loaded, base: hwSP}

func (st *symbolicState) returnPlace(entry uint64) (r ReturnPlace, ok bool) {
	if !st.regs[hwBP].isStartValue(hwBP) {
		return r, false
	}
	r.Entry = entry
	r.Reg, r.Off, ok = st.asRegPlusOffset(startValue(hwSP).plus(8))
	if sp := st.regs[hwSP]; !ok && sp.kind == startRelative && sp.base < firstUnnamedBase {
		r.Moved = true
		r.Reg, r.Off, ok = st.asRegPlusOffset(startValue(sp.base))
	}
	if slot, onStack := st.returnSlot(); onStack {
		reg, off, _ := st.asRegPlusOffset(slot)
		r.RA = frames.RegRule{Kind: frames.RuleRegOffset, Reg: reg, Off: off}
		if !r.Moved && (!ok || slot.base != hwSP) { // an adapter has moved it to below an aligned address
			r.Reg, r.Off = reg, off+8
		}
		return r, true
	}
	for reg, v := range st.regs[:16] {
		if v == returnAddressAtStart {
			r.RA = frames.RegRule{Kind: frames.RuleReg, Reg: dwarfX86(uint8(reg))}
			return r, ok
		}
	}
	return r, false
}

// returnSlot returns the address of the return address on the stack: where it was at the start, else where the path has
// stored it.
func (st *symbolicState) returnSlot() (addr value, ok bool) {
	if start := startValue(hwSP); !st.startWordPopped && st.load(start) == returnAddressAtStart {
		if _, _, ok := st.asRegPlusOffset(start); ok {
			return start, true
		}
	}
	sp := st.regs[hwSP]
	for _, s := range st.slots[:st.nslots] {
		if s.val == returnAddressAtStart && sp.isRelativeTo(s.base) && s.off >= sp.off {
			return value{kind: startRelative, base: s.base, off: s.off}, true
		}
	}
	return value{}, false
}

// asRegPlusOffset expresses addr by a register at pc, preferably the stack pointer. reg is a DWARF number.
func (st *symbolicState) asRegPlusOffset(addr value) (reg uint8, off int64, ok bool) {
	for i := range uint8(16) {
		reg := (hwSP + i) % 16
		if v := st.regs[reg]; v.isRelativeTo(addr.base) {
			return dwarfX86(reg), int64(addr.off) - int64(v.off), true
		}
	}
	return 0, 0, false
}
