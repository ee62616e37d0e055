// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

const (
	// raSlot is the slot of a return address column that is no register.
	raSlot   = frames.NumRegs
	numSlots = raSlot + 1
	// noExpr: the CFA is a register plus an offset.
	noExpr = -1
)

type regRule struct {
	off  int64 // for kinds with an expression: its index
	kind frames.RegRuleKind
	reg  uint8
}

type cfaRow struct {
	cfaOff  int64
	cfaExpr int32 // index, or noExpr
	cfaReg  uint8
	regs    [numSlots]regRule
}

// set ignores slots below 0.
func (row *cfaRow) set(slot int, r regRule) {
	if slot >= 0 {
		row.regs[slot] = r
	}
}
