// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

type prologue struct {
	abi         *abi
	st          symbolicState // at pc
	found       bool          // st is valid
	guessed     bool          // st is that of most jump tables or calls (guessByMajority)
	afterCall   bool          // pc is behind a call
	ambiguousSP bool          // paths lead to pc with different stack pointers
	beforeCall  [32]value     // registers, if afterCall is set

	tables, calls majority
}

// majority finds the stack pointer of more than half of the states (Boyer and Moore).
type majority struct {
	st    symbolicState
	count int // 0 means no state
}

func (m *majority) add(st *symbolicState) {
	switch {
	case m.count == 0:
		m.st = *st
		m.count = 1
	case m.st.regs[st.sp] == st.regs[st.sp]:
		m.count++
		if st.nslots > m.st.nslots {
			m.st = *st
		}
	default:
		m.count--
	}
}

// searchPrologue searches paths from fn's start to pc, in fn and in part, which was split off fn. With q.SPOnly the
// result holds for all paths.
func (a *analysis) searchPrologue(q frames.Query, fn, part span) prologue {
	p := a.searchPrologueAlong(q, fn, part, false)
	if fp := p.st.regs[a.abi.fp]; q.SPOnly && p.found && !p.guessed && fp.isRelativeTo(a.abi.sp) {
		// Only code with a frame pointer may have a stack pointer that depends on the path.
		p = a.searchPrologueAlong(q, fn, part, true)
	}
	if !p.found {
		p.guessByMajority()
	}
	return p
}

type prologueSearch struct {
	in           *interpreter
	pc           uint64
	spans        [2]span
	allPaths     bool // follow paths with other stack pointers, too (visit)
	movedUnknown bool // a path moved the stack pointer by an unknown amount
	result       prologue
}

func (a *analysis) searchPrologueAlong(q frames.Query, fn, part span, allPaths bool) prologue {
	a.begin(fn.lo, fn)
	s := &a.prologues
	*s = prologueSearch{in: &a.interpreter, pc: q.PC, spans: [2]span{fn, part}, allPaths: allPaths}
	p := &s.result
	p.abi, p.afterCall = a.abi, q.AfterCall
	a.runPaths(s)
	p.ambiguousSP = p.ambiguousSP || allPaths && s.movedUnknown && (a.pending.dropped || a.steps >= maxSteps)
	return *p
}

func (s *prologueSearch) done() bool {
	return s.result.found && (!s.allPaths || s.result.ambiguousSP)
}

func (s *prologueSearch) needsPostponed() bool { return !s.result.found }

func (s *prologueSearch) arrive() bool {
	in, st, p := s.in, &s.in.st, &s.result
	if st.afterCall && in.pending.hasOtherSP(st) {
		return false
	}
	if st.afterCall && st.padded && st.pc%8 == 0 {
		// The call may not return: other paths to this place go first.
		in.postpone(st.pc, st.function)
		return false
	}
	if !s.visit() {
		return false
	}
	if st.pc == s.pc && !p.afterCall {
		p.mergeReached(st)
	}
	if mayBeTheCall := s.pc-st.pc-1 < maxCallX86; p.afterCall && !p.found && mayBeTheCall {
		p.beforeCall = st.regs
	}
	return true
}

// visit reports whether the path goes on. With allPaths, one with another stack pointer visits an instruction once
// more, with an unknown one. Behind a call it ends: the call does not return.
func (s *prologueSearch) visit() bool {
	st := &s.in.st
	s.movedUnknown = s.movedUnknown || st.regs[st.sp].base >= firstUnnamedBase
	key := st.spKey()
	inst, added := s.in.visited.add(st.pc)
	if added {
		inst.sp = key
		return true
	}
	if !s.allPaths || inst.sp == mixedSP || inst.sp == key || st.afterCall {
		return false
	}
	inst.sp, s.movedUnknown = mixedSP, true
	st.regs[st.sp] = st.newUnnamedBase()
	return true
}

func (s *prologueSearch) follow(f *flow) bool {
	st, p := &s.in.st, &s.result
	st.markStartWordPopped()
	if st.pc == s.pc && p.afterCall && f.kind == flowCall {
		p.mergeReached(st)
	}
	switch f.kind {
	case flowNext:
	case flowCall:
		st.recordCall()
		p.calls.add(st)
	case flowCond:
		s.branch(f.target)
	case flowJump:
		st.enter(f.target)
		if to := s.spanOf(f.target); to.lo < to.hi {
			st.function = to
		}
	case flowIndirect:
		p.countIndirectJump(st)
		return false
	default:
		return false
	}
	return !s.done()
}

func (s *prologueSearch) branch(target uint64) {
	to := s.spanOf(target)
	if to.lo == to.hi {
		return
	}
	if inst := s.in.visited.find(target); inst != nil {
		if !s.allPaths || inst.sp == mixedSP || inst.sp == s.in.st.spKey() {
			return
		}
	}
	s.in.pending.push(&s.in.st, target, to)
}

func (s *prologueSearch) spanOf(pc uint64) span {
	for _, r := range s.spans {
		if r.has(pc) {
			return r
		}
	}
	return span{}
}

func (p *prologue) mergeReached(st *symbolicState) {
	if p.found {
		p.ambiguousSP = p.ambiguousSP || p.st.regs[st.sp] != st.regs[st.sp]
		return
	}
	p.st = *st
	p.found = true
}

const mixedSP = ^uint32(0)

// guessByMajority takes the state of most jump tables, else of most calls. Precondition: no path led to pc.
func (p *prologue) guessByMajority() {
	for _, m := range [...]*majority{&p.tables, &p.calls} {
		if m.count > 0 {
			p.st, p.found, p.guessed = m.st, true, true
			return
		}
	}
}

// countIndirectJump counts a jump as a table's, or, with the stack pointer as at the start, as a call (a tail call).
func (p *prologue) countIndirectJump(st *symbolicState) {
	if st.regs[st.sp].isStartValue(st.sp) {
		p.calls.add(st)
		return
	}
	p.tables.add(st)
}

// finding returns the frame at pc; false if no register gives the CFA.
func (p *prologue) finding(spOnly bool) (f finding, ok bool) {
	if spOnly && p.ambiguousSP {
		return f, false
	}
	reg, ok := p.cfaRegister(spOnly)
	if !ok {
		ok = p.realignedCFA(&f, spOnly) || p.afterCall && !spOnly && p.assumePreserved(&f)
		return f, ok
	}
	f.cfa = value{kind: startRelative, base: reg, off: int32(p.abi.entry) - p.st.regs[reg].off}
	p.fillPlaces(&f, reg)
	return f, true
}

// cfaRegister chooses the frame pointer, the stack pointer, else any register (behind a call: callee-saved).
func (p *prologue) cfaRegister(spOnly bool) (reg uint8, ok bool) {
	st := &p.st
	if fp := st.regs[p.abi.fp]; !spOnly && fp.isRelativeTo(p.abi.sp) && p.abi.isFrameAt(st, fp) {
		return p.abi.fp, true
	}
	if st.regs[p.abi.sp].isRelativeTo(p.abi.sp) {
		return p.abi.sp, true
	}
	if spOnly {
		return 0, false
	}
	for reg := range uint8(len(st.regs)) {
		if st.regs[reg].isRelativeTo(p.abi.sp) && (!p.afterCall || p.abi.isCalleeSaved(reg)) {
			return reg, true
		}
	}
	return 0, false
}

// realignedCFA finds the CFA of a realigned frame, in slots: gcc's argument pointer, OpenSSL's earlier stack pointer.
// The lowest copy moves along with the stack.
func (p *prologue) realignedCFA(f *finding, spOnly bool) bool {
	var lowest *slot
	var leadReg uint8 // leads to it
	lowestSave := p.st.lowestSave(p.abi)
	for i := range p.st.nslots {
		s := &p.st.slots[i]
		if lowest != nil && s.off >= lowest.off || !p.mayKeepCFA(s, lowestSave) {
			continue
		}
		if reg, ok := p.registerTo(s, spOnly); ok {
			lowest, leadReg = s, reg
		}
	}
	if lowest == nil {
		return false
	}
	off := lowest.off - p.st.regs[leadReg].off
	f.cfa = value{kind: loaded, base: leadReg, off: off, addend: int32(p.abi.entry) - lowest.val.off}
	p.fillPlaces(f, leadReg)
	p.addSavedAbove(f)
	return true
}

// mayKeepCFA returns false for slots with addresses below the saved registers: arguments, which callees may write.
func (p *prologue) mayKeepCFA(s *slot, lowestSave int32) bool {
	return s.base >= firstUnnamedBase && s.val.isRelativeTo(p.abi.sp) && s.val.off >= lowestSave && p.st.stillValid(s)
}

// registerTo returns the stack pointer or frame pointer, if it is at a known distance to a slot.
func (p *prologue) registerTo(s *slot, spOnly bool) (reg uint8, ok bool) {
	switch {
	case p.st.regs[p.abi.sp].isRelativeTo(s.base):
		return p.abi.sp, true
	case !spOnly && p.st.regs[p.abi.fp].isRelativeTo(s.base):
		return p.abi.fp, true
	}
	return 0, false
}

// assumePreserved assumes that the call preserves a scratch register with the CFA. The walker checks return addresses.
func (p *prologue) assumePreserved(f *finding) bool {
	if p.guessed || p.abi.ra != noReg { // the link register is needed, too
		return false
	}
	for reg, v := range p.beforeCall {
		if v.isRelativeTo(p.abi.sp) && uint8(reg) != p.abi.sp {
			f.cfa = value{kind: startRelative, base: uint8(reg), off: int32(p.abi.entry) - v.off}
			f.calleeSaved = [maxCalleeSaved]frames.RegRule{}
			p.addSavedAbove(f)
			return true
		}
	}
	return false
}

// addSavedAbove adds registers saved before the stack pointer was aligned.
func (p *prologue) addSavedAbove(f *finding) {
	for i, reg := range p.abi.calleeSaved {
		if isInMemory(f.calleeSaved[i]) {
			continue
		}
		for _, s := range p.st.slots[:p.st.nslots] {
			if s.base == p.abi.sp && s.val.isStartValue(reg) {
				f.calleeSaved[i] = frames.RegRule{Kind: frames.RuleOffset, Off: int64(s.off) - p.abi.entry}
			}
		}
	}
}

func (p *prologue) fillPlaces(f *finding, base uint8) {
	for i, reg := range p.abi.calleeSaved {
		f.calleeSaved[i] = p.savedPlace(reg, base)
	}
	if p.abi.ra != noReg {
		if f.ra = p.savedPlace(p.abi.ra, base); f.ra == lost {
			f.ra = p.savedOutsideFrame()
		}
	}
}

// savedOutsideFrame finds the return address of arm64's swapcontext, which is only in the context.
func (p *prologue) savedOutsideFrame() frames.RegRule {
	if p.afterCall {
		return p.savedInScratch()
	}
	for _, s := range p.st.slots[:p.st.nslots] {
		if !s.val.isStartValue(p.abi.ra) || s.base >= firstUnnamedBase {
			continue
		}
		for base := range uint8(len(p.st.regs)) {
			if v := p.st.regs[base]; v.isRelativeTo(s.base) {
				return inMemory(base, s.off-v.off)
			}
		}
	}
	return lost
}

func (p *prologue) savedInScratch() frames.RegRule {
	for other, v := range p.beforeCall {
		if v.isStartValue(p.abi.ra) && !p.guessed && p.abi.scratch>>other&1 != 0 && uint8(other) != p.abi.ra {
			return frames.RegRule{Kind: frames.RuleReg, Reg: uint8(other)}
		}
	}
	return lost
}

func (p *prologue) savedPlace(reg, baseReg uint8) frames.RegRule {
	st := &p.st
	base, sp := st.regs[baseReg], st.regs[p.abi.sp]
	for _, s := range st.slots[:st.nslots] {
		if !s.val.isStartValue(reg) || s.base != base.base {
			continue
		}
		if popped := sp.isRelativeTo(s.base) && s.off < sp.off; popped && st.regs[reg].isStartValue(reg) {
			continue
		}
		return inMemory(baseReg, s.off-base.off)
	}
	if st.regs[reg].isStartValue(reg) {
		return frames.RegRule{}
	}
	return lost
}
