// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"math"
	"slices"

	"prywalk/frames"
)

const (
	// Compilers use one.
	maxRemembered = 64
	maxExprs      = 1024
)

// machine runs CFA programs (DWARF 5 §6.4.2).
type machine struct {
	row        frames.Row // with undecoded expressions, which [Table.buildRow] replaces
	loc        uint64
	remembered []frames.Row // by DW_CFA_remember_state
	exprs      int          // read so far

	cie  *cie
	base uint64 // address of the entry, for DW_CFA_set_loc
}

func (m *machine) reset(c *cie) {
	m.row = c.init
	m.remembered, m.exprs = m.remembered[:0], 0
}

// run executes the program of the entry at offset off of the section, up to the row for pc; false if invalid.
func (m *machine) run(c *cie, prog *cursor, s *frameSection, off, start, pc uint64) bool {
	m.begin(c, s, off, start)
	for prog.Pos < len(prog.Bytes) {
		if !m.step(prog) {
			return false
		}
		if m.loc > pc {
			break
		}
	}
	return true
}

func (m *machine) begin(c *cie, s *frameSection, off, start uint64) {
	m.cie, m.loc, m.base = c, start, s.section.Addr+off
}

// step executes one instruction; it and the functions that it calls return false if that is invalid.
func (m *machine) step(p *cursor) bool {
	op := p.U8()
	low := uint64(op & 0x3f)
	switch op & 0xc0 {
	case cfaAdvanceLoc:
		m.advance(low)
		return true
	case cfaOffset:
		m.set(low, frames.RegRule{Kind: frames.RuleOffset, Off: int64(p.ULEB()) * m.cie.dataAlign})
		return !p.Bad
	case cfaRestore:
		m.set(low, m.cie.initialRule(low))
		return true
	}
	switch {
	case op <= cfaAdvanceLoc4, op == cfaMIPSAdvanceLoc8:
		return m.createRow(op, p)
	case op >= cfaDefCFA && op <= cfaDefCFAExpression, op == cfaDefCFASF, op == cfaDefCFAOffsetSF:
		return m.defineCFA(op, p)
	case op == cfaRememberState: // DWARF 5 §6.4.2.4; with the CFA, as compilers assume
		if len(m.remembered) >= maxRemembered {
			return false
		}
		m.remembered = append(m.remembered, m.row)
		return true
	case op == cfaRestoreState:
		n := len(m.remembered) - 1
		if n < 0 {
			return false
		}
		m.row = m.remembered[n]
		m.remembered = m.remembered[:n]
		return true
	}
	return m.registerRule(op, p)
}

// advance goes at most to the end of the address space. n is in units of codeAlign.
func (m *machine) advance(n uint64) {
	d := n * m.cie.codeAlign
	if n != 0 && d/n != m.cie.codeAlign || m.loc+d < m.loc {
		m.loc = math.MaxUint64
		return
	}
	m.loc += d
}

// createRow executes an instruction of DWARF 5 §6.4.2.1.
func (m *machine) createRow(op uint8, p *cursor) bool {
	switch op {
	case cfaNop:
	case cfaSetLoc:
		to := p.readPointer(m.cie.fdeEnc, m.base)
		if to < m.loc {
			return false
		}
		m.loc = to
	case cfaAdvanceLoc1:
		m.advance(uint64(p.U8()))
	case cfaAdvanceLoc2:
		m.advance(uint64(p.U16()))
	case cfaAdvanceLoc4:
		m.advance(uint64(p.U32()))
	case cfaMIPSAdvanceLoc8:
		m.advance(p.U64())
	}
	return !p.Bad
}

// defineCFA executes an instruction of DWARF 5 §6.4.2.2.
func (m *machine) defineCFA(op uint8, p *cursor) bool {
	switch op {
	case cfaDefCFA:
		m.setCFAReg(p.ULEB())
		m.row.CFAOff = int64(p.ULEB())
	case cfaDefCFASF:
		m.setCFAReg(p.ULEB())
		m.row.CFAOff = p.SLEB() * m.cie.dataAlign
	case cfaDefCFARegister:
		m.setCFAReg(p.ULEB())
	case cfaDefCFAOffset:
		m.row.CFAOff = int64(p.ULEB())
	case cfaDefCFAOffsetSF:
		m.row.CFAOff = p.SLEB() * m.cie.dataAlign
	case cfaDefCFAExpression:
		e := m.readExpr(p, false)
		m.row.CFAExpr = e
		return e != nil
	}
	return !p.Bad
}

func (m *machine) setCFAReg(reg uint64) {
	m.row.CFAExpr, m.row.CFAReg = nil, frames.NoReg
	if reg < frames.NumRegs {
		m.row.CFAReg = uint8(reg)
	}
}

// readExpr copies an expression, as a view may keep a whole block of the file; nil if there are too many.
func (m *machine) readExpr(p *cursor, pushCFA bool) *expr {
	b := p.Block()
	if m.exprs++; p.Bad || m.exprs > maxExprs {
		return nil
	}
	return &expr{code: slices.Clone(b), pcColumn: m.cie.arch.pc, pushCFA: pushCFA}
}

// registerRule executes an instruction of DWARF 5 §6.4.2.3, or a vendor extension; false if it is unknown or invalid.
func (m *machine) registerRule(op uint8, p *cursor) bool {
	switch op {
	case cfaARM64NegateRA, cfaARM64NegateRAPC:
		return true // the walker always strips signatures
	case cfaARM64SetRAState:
		p.ULEB()
		p.SLEB()
		return !p.Bad
	case cfaGNUArgsSize:
		p.ULEB()
		return !p.Bad
	}
	reg := p.ULEB()
	r, ok := m.parseRule(op, reg, p)
	if !ok || p.Bad {
		return false
	}
	m.set(reg, r)
	return true
}

// parseRule returns the rule that the operands give; false if op is unknown or the operands are invalid.
func (m *machine) parseRule(op uint8, reg uint64, p *cursor) (r frames.RegRule, ok bool) {
	switch op {
	case cfaOffsetExtended:
		return frames.RegRule{Kind: frames.RuleOffset, Off: int64(p.ULEB()) * m.cie.dataAlign}, true
	case cfaOffsetExtendedSF:
		return frames.RegRule{Kind: frames.RuleOffset, Off: p.SLEB() * m.cie.dataAlign}, true
	case cfaGNUNegativeOffset:
		return frames.RegRule{Kind: frames.RuleOffset, Off: -int64(p.ULEB()) * m.cie.dataAlign}, true
	case cfaValOffset:
		return frames.RegRule{Kind: frames.RuleValOffset, Off: int64(p.ULEB()) * m.cie.dataAlign}, true
	case cfaValOffsetSF:
		return frames.RegRule{Kind: frames.RuleValOffset, Off: p.SLEB() * m.cie.dataAlign}, true
	case cfaUndefined:
		return frames.RegRule{Kind: frames.RuleUndefined}, true
	case cfaSameValue:
		return frames.RegRule{Kind: frames.RuleSame}, true
	case cfaRestoreExtended:
		return m.cie.initialRule(reg), true
	case cfaRegister:
		return ruleInRegister(p.ULEB()), true
	case cfaExpression, cfaValExpression:
		r.Kind = frames.RuleExpr
		if op == cfaValExpression {
			r.Kind = frames.RuleValExpr
		}
		e := m.readExpr(p, true)
		r.Expr = e
		return r, e != nil
	}
	return r, false
}

// ruleInRegister is lost if [frames.Regs] lacks the other register.
func ruleInRegister(reg uint64) frames.RegRule {
	if reg >= frames.NumRegs {
		return frames.RegRule{Kind: frames.RuleUndefined}
	}
	return frames.RegRule{Kind: frames.RuleReg, Reg: uint8(reg)}
}

func (m *machine) set(reg uint64, r frames.RegRule) {
	if p := m.cie.place(&m.row, reg); p != nil {
		*p = r
	}
}

// archRules are an architecture's: System V ABI for x86-64, §3.6; "DWARF for the Arm 64-bit Architecture", §4.1.
type archRules struct {
	columns            uint64 // with rules; vector registers come after them
	pc                 uint64 // column
	spMayDifferFromCFA bool   // see [Table.adjustSPARM64]
}

var rulesByArch = map[frames.Arch]*archRules{
	frames.X86_64: {columns: uint64(frames.X86RA) + 1, pc: uint64(frames.X86RA)},
	frames.ARM64:  {columns: frames.NumRegs, pc: 32, spMayDifferFromCFA: true},
}
