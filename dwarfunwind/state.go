// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

const (
	// raSlot is the slot of a return address column that is no register.
	raSlot   = frames.NumRegs
	numSlots = raSlot + 1
	// noExpr in state.cfaExpr: the CFA is a register plus an offset.
	noExpr = -1
)

// regRule is where one register of the caller is. For the two kinds with an
// expression, off is its index in the machine's list.
type regRule struct {
	off  int64
	kind frames.RegRuleKind
	reg  uint8
}

// state is a row of the table that the CFA program describes.
type state struct {
	cfaOff  int64
	cfaExpr int32 // index in the machine's list of expressions
	cfaReg  uint8
	used    uint64 // slots whose rule was ever set
	regs    [numSlots]regRule
}

// set changes the rule of a slot; slots below 0 are not followed.
func (s *state) set(slot int, r regRule) {
	if slot >= 0 {
		s.regs[slot] = r
		s.used |= 1 << slot
	}
}
