// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"prywalk/frames"
)

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

// archRules has an architecture's definitions: System V ABI for x86-64, §3.6; "DWARF for the Arm 64-bit Architecture",
// §4.1.
type archRules struct {
	columns            uint64 // with rules; vector registers come after them
	pc                 uint64 // column
	spMayDifferFromCFA bool   // see [Table.adjustSPARM64]
}

var rulesByArch = map[frames.Arch]*archRules{
	frames.X86_64: {columns: uint64(frames.X86RA) + 1, pc: uint64(frames.X86RA)},
	frames.ARM64:  {columns: frames.NumRegs, pc: 32, spMayDifferFromCFA: true},
}
