// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

const (
	// raSlot is that of a return address column that is no register.
	raSlot   = frames.NumRegs
	numSlots = raSlot + 1
	// noExpr is the cfaExpr of a CFA that is a register plus an offset.
	noExpr = -1
)

// regRule is the rule of a register. off is the index of the expression, for kinds with one.
type regRule struct {
	off  int64
	kind frames.RegRuleKind
	reg  uint8
}

// cfaRow is a row of the table that a CFA program describes.
type cfaRow struct {
	cfaOff  int64
	cfaExpr int32 // index of its expression, or noExpr
	cfaReg  uint8
	used    uint64 // set of the slots that have had a rule
	regs    [numSlots]regRule
}

// set ignores slots below 0.
func (s *cfaRow) set(slot int, r regRule) {
	if slot >= 0 {
		s.regs[slot] = r
		s.used |= 1 << slot
	}
}
