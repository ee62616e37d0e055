// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"strconv"
	"strings"

	"prywalk/frames"
)

// confirmedStates runs the instructions from the function's start along paths on which call frame information has the
// same CFA and saved registers at each instruction. It returns the state at the first arrival at each instruction.
func (f *cfiFunc) confirmedStates(s *Source) map[uint64]*symbolicState {
	a := s.analysis()
	defer a.free()
	a.begin(f.lo, span{f.lo, f.hi})
	r := &confirmedSearch{in: &a.interpreter, f: f, states: map[uint64]*symbolicState{}, calls: map[value]bool{}}
	a.runPaths(r)
	for i := 0; i < len(r.tables); i++ {
		for _, block := range f.blocksBehindJumps(s) {
			a.st = *r.tables[i]
			a.st.enter(block)
			a.runPaths(r)
		}
	}
	return r.states
}

// blocksBehindJumps are the possible targets of jump tables and of exceptions.
func (f *cfiFunc) blocksBehindJumps(s *Source) (blocks []uint64) {
	f.instructions(s, func(pc, _ uint64, fl *flow, behindJump bool) {
		if behindJump {
			blocks = append(blocks, pc)
		}
	})
	return blocks
}

type confirmedSearch struct {
	in     *interpreter
	f      *cfiFunc
	states map[uint64]*symbolicState // by pc
	tables []*symbolicState          // at jumps to unknown places, and at a call for each stack pointer
	calls  map[value]bool            // stack pointers
}

func (r *confirmedSearch) done() bool           { return false }
func (r *confirmedSearch) needsPostponed() bool { return false }

func (r *confirmedSearch) arrive() bool {
	st := &r.in.st
	row := r.f.row(st.pc)
	if r.states[st.pc] != nil || row == nil || row.expr || !row.confirms(r.in.abi, st) {
		return false
	}
	r.states[st.pc] = new(symbolicState)
	*r.states[st.pc] = *st
	return r.in.visit()
}

func (r *confirmedSearch) follow(f *flow) bool {
	st := &r.in.st
	if f.kind == flowCall {
		st.recordCall()
	}
	if sp := st.regs[st.sp]; f.kind == flowIndirect || f.kind == flowCall && !r.calls[sp] {
		r.calls[sp] = true
		table := new(symbolicState)
		*table = *st
		r.tables = append(r.tables, table)
	}
	return r.in.goOn(f)
}

// Precondition: the CFA is by a register.
func (row *cfiRow) confirms(abi *abi, st *symbolicState) bool {
	if v := st.regs[abi.hardware(regNumber(row.reg))]; v.plus(row.off) != abi.cfaAtEntry() {
		return false
	}
	for _, reg := range abi.calleeSaved {
		off, saved := row.savedAt(abi, reg)
		if saved && !st.load(abi.cfaAtEntry().plus(off)).isStartValue(reg) {
			return false
		}
	}
	return true
}

// savedAt returns the offset of a register's place from the CFA, in bytes.
func (row *cfiRow) savedAt(abi *abi, reg uint8) (off int64, saved bool) {
	for name, place := range row.places {
		if digits, ok := strings.CutPrefix(place, "c"); ok && name != "ra" && regNumber(name) == abi.dwarf(reg) {
			off, _ = strconv.ParseInt(digits, 10, 64)
			return off, true
		}
	}
	return 0, false
}

// hardware is the inverse of abi.dwarf.
func (abi *abi) hardware(dwarf uint8) uint8 {
	for reg := range uint8(32) {
		if abi.dwarf(reg) == dwarf {
			return reg
		}
	}
	return noReg
}

// givesCFA reports whether the row's CFA is the function's. known is false if the state has not the row's register.
func (st *symbolicState) givesCFA(abi *abi, row *frames.Row) (gives, known bool) {
	reg, off := row.CFAReg, row.CFAOff
	saved, ok := row.CFAExpr.(CFA)
	if ok {
		reg, off = saved.Reg, saved.Off
	}
	v := st.regs[abi.hardware(reg)].plus(off)
	if row.CFADeref || ok {
		v = st.load(v).plus(saved.Add)
	}
	return v == abi.cfaAtEntry(), v.isRelativeTo(abi.sp)
}

// keeps reports whether the place has the value that reg, a hardware number, had at the function's start.
func (st *symbolicState) keeps(abi *abi, p frames.RegRule, reg uint8) bool {
	switch p.Kind {
	case frames.RuleSame:
		return st.regs[reg].isStartValue(reg)
	case frames.RuleOffset:
		return st.load(abi.cfaAtEntry().plus(p.Off)).isStartValue(reg)
	case frames.RuleReg:
		return st.regs[abi.hardware(p.Reg)].isStartValue(reg)
	case frames.RuleRegOffset:
		return st.load(st.regs[abi.hardware(p.Reg)].plus(p.Off)).isStartValue(reg)
	}
	return false
}
