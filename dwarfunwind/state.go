// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

const (
	// raSlot is the slot of a return address column that is no register.
	raSlot   = frames.NumRegs
	numSlots = raSlot + 1
	// noExpr: the CFA is register + offset.
	noExpr = -1
)

// regRule is where a register is. off is the index of an expression, for the kinds that have one.
type regRule struct {
	off  int64
	kind frames.RegRuleKind
	reg  uint8
}

// state is a row of the table that the CFA program describes.
type state struct {
	cfaOff  int64
	cfaExpr int32 // index of an expression
	cfaReg  uint8
	used    uint64 // slots that have had a rule
	regs    [numSlots]regRule
}

// set ignores slots below 0.
func (s *state) set(slot int, r regRule) {
	if slot >= 0 {
		s.regs[slot] = r
		s.used |= 1 << slot
	}
}
