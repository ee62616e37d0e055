// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

// archRules is what an architecture's supplement defines: System V ABI for x86-64, §3.6; "DWARF for the Arm 64-bit
// Architecture", §4.1.
type archRules struct {
	columns            uint64 // registers that have rules; vector registers come after them
	pc                 uint64 // column of the program counter
	spMayDifferFromCFA bool   // the caller's stack pointer may not be the CFA ([Table.adjustSPAArch64])
}

var rulesByArch = map[frames.Arch]*archRules{
	frames.X86_64:  {columns: uint64(frames.X86RA) + 1, pc: uint64(frames.X86RA)},
	frames.AArch64: {columns: frames.NumRegs, pc: 32, spMayDifferFromCFA: true},
}
