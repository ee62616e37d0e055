// SPDX-License-Identifier: Apache-2.0

package heuristics

import "math"

// finding returns the state at pc; false if no register gives the CFA.
func (p *prologue) finding(a *abi, spOnly, caller bool) (f finding, ok bool) {
	if spOnly && p.ambiguousSP {
		return f, false
	}
	reg, ok := p.cfaRegister(a, spOnly, caller)
	if !ok {
		ok = p.realignedCFA(a, &f, spOnly) || caller && !spOnly && p.assumePreserved(a, &f)
		return f, ok
	}
	f.cfa = value{kind: startRelative, base: reg, off: int32(a.entry) - p.st.regs[reg].off}
	p.fillPlaces(a, &f, reg)
	return f, true
}

// cfaRegister chooses the register of the CFA: the frame pointer if it is one, the stack pointer, else any (in a
// caller: callee-saved) register.
func (p *prologue) cfaRegister(a *abi, spOnly, caller bool) (uint8, bool) {
	st := &p.st
	if fp := st.regs[a.fp]; !spOnly && fp.kind == startRelative && fp.base == a.sp && a.framesAt(st, fp) {
		return a.fp, true
	}
	if v := st.regs[a.sp]; v.kind == startRelative && v.base == a.sp {
		return a.sp, true
	}
	if spOnly {
		return 0, false
	}
	if v := st.regs[a.fp]; v.kind == startRelative && v.base == a.sp {
		return a.fp, true
	}
	for r := range uint8(len(st.regs)) {
		if v := st.regs[r]; v.kind == startRelative && v.base == a.sp && (!caller || a.isCalleeSaved(r)) {
			return r, true
		}
	}
	return 0, false
}

// realignedCFA finds the CFA in a slot of a realigned frame: gcc's argument pointer, OpenSSL's earlier stack pointer.
// Slots below the saved registers are arguments, which callees may write.
func (p *prologue) realignedCFA(a *abi, f *finding, spOnly bool) bool {
	best, lowest := int32(math.MaxInt32), p.st.lowestSave(a)
	for i := range p.st.nslots {
		s := &p.st.slots[i]
		if s.base < firstUnnamedBase || s.val.kind != startRelative || s.val.base != a.sp || s.val.off < lowest {
			continue
		}
		if s.off >= best || !p.st.stillValid(s) {
			continue
		}
		for _, reg := range [...]uint8{a.sp, a.fp} {
			v := p.st.regs[reg]
			if v.kind == startRelative && v.base == s.base && (!spOnly || reg == a.sp) {
				// The lowest copy moves along with the stack.
				best = s.off
				f.cfa = value{kind: loaded, base: reg, off: s.off - v.off, addend: int32(a.entry) - s.val.off}
				p.fillPlaces(a, f, reg)
				break
			}
		}
	}
	if best == math.MaxInt32 {
		return false
	}
	p.addSavedAbove(a, f)
	return true
}

// assumePreserved takes the CFA from a register that calls may change, if no other has it. The walker requires proof.
func (p *prologue) assumePreserved(a *abi, f *finding) bool {
	if p.weak || a.ra != noReg { // the link register would be needed, too
		return false
	}
	for r, v := range p.beforeCall {
		if v.kind == startRelative && v.base == a.sp && uint8(r) != a.sp {
			f.cfa = value{kind: startRelative, base: uint8(r), off: int32(a.entry) - v.off}
			for i := range f.calleeSaved {
				f.calleeSaved[i] = savedReg{}
			}
			p.addSavedAbove(a, f)
			return true
		}
	}
	return false
}

// addSavedAbove finds registers saved before the stack pointer was aligned, at a known distance to the CFA.
func (p *prologue) addSavedAbove(a *abi, f *finding) {
	for i, r := range a.calleeSaved {
		if f.calleeSaved[i].kind == inMemory {
			continue
		}
		for _, s := range p.st.slots[:p.st.nslots] {
			if s.base == a.sp && s.val.isStartValue(r) {
				f.calleeSaved[i] = savedReg{kind: inFrame, off: s.off - int32(a.entry)}
			}
		}
	}
}

func (p *prologue) fillPlaces(a *abi, f *finding, reg uint8) {
	for i, r := range a.calleeSaved {
		f.calleeSaved[i] = p.savedPlace(a, r, reg)
	}
	if a.ra != noReg {
		if f.ra = p.savedPlace(a, a.ra, reg); f.ra.kind == lost {
			f.ra = p.savedOutsideFrame(a, a.ra)
		}
	}
}

// savedOutsideFrame finds a register's initial value outside of the frame: arm64's swapcontext has its return address
// only in the context.
func (p *prologue) savedOutsideFrame(a *abi, r uint8) savedReg {
	if p.caller { // the call may have changed it
		for reg, v := range p.beforeCall {
			if v.isStartValue(r) && !p.weak && a.scratch>>reg&1 != 0 && uint8(reg) != r {
				return savedReg{kind: inOther, base: uint8(reg)}
			}
		}
		return savedReg{kind: lost}
	}
	for _, s := range p.st.slots[:p.st.nslots] {
		for reg := range uint8(len(p.st.regs)) {
			v := p.st.regs[reg]
			if s.val.isStartValue(r) && s.base < firstUnnamedBase && v.kind == startRelative && v.base == s.base {
				return savedReg{inMemory, reg, s.off - v.off}
			}
		}
	}
	return savedReg{kind: lost}
}

// savedPlace finds a register in a slot, else in itself.
func (p *prologue) savedPlace(a *abi, r, reg uint8) savedReg {
	st := &p.st
	by, sp := st.regs[reg], st.regs[a.sp]
	for _, s := range st.slots[:st.nslots] {
		if !s.val.isStartValue(r) || s.base != by.base {
			continue
		}
		if sp.kind == startRelative && sp.base == s.base && s.off < sp.off && st.regs[r].isStartValue(r) {
			continue
		}
		return savedReg{inMemory, reg, s.off - by.off}
	}
	if st.regs[r].isStartValue(r) {
		return savedReg{}
	}
	return savedReg{kind: lost}
}
