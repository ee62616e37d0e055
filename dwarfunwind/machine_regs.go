// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

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
	m.set(m.cie.slot(reg), r)
	return true
}

// parseRule returns the rule that the operands give; false if op is unknown or the operands are invalid.
func (m *machine) parseRule(op uint8, reg uint64, p *cursor) (r regRule, ok bool) {
	switch op {
	case cfaOffsetExtended:
		return regRule{kind: frames.RuleOffset, off: int64(p.ULEB()) * m.cie.dataAlign}, true
	case cfaOffsetExtendedSF:
		return regRule{kind: frames.RuleOffset, off: p.SLEB() * m.cie.dataAlign}, true
	case cfaGNUNegativeOffset:
		return regRule{kind: frames.RuleOffset, off: -int64(p.ULEB()) * m.cie.dataAlign}, true
	case cfaValOffset:
		return regRule{kind: frames.RuleValOffset, off: int64(p.ULEB()) * m.cie.dataAlign}, true
	case cfaValOffsetSF:
		return regRule{kind: frames.RuleValOffset, off: p.SLEB() * m.cie.dataAlign}, true
	case cfaUndefined:
		return regRule{kind: frames.RuleUndefined}, true
	case cfaSameValue:
		return regRule{kind: frames.RuleSame}, true
	case cfaRestoreExtended:
		return m.cie.initialRule(reg), true
	case cfaRegister:
		return ruleInRegister(p.ULEB()), true
	case cfaExpression, cfaValExpression:
		r.kind = frames.RuleExpr
		if op == cfaValExpression {
			r.kind = frames.RuleValExpr
		}
		r.off, ok = m.addExpr(p)
		return r, ok
	}
	return r, false
}

// ruleInRegister is lost if [frames.Regs] lacks the other register.
func ruleInRegister(reg uint64) regRule {
	if reg >= frames.NumRegs {
		return regRule{kind: frames.RuleUndefined}
	}
	return regRule{kind: frames.RuleReg, reg: uint8(reg)}
}
