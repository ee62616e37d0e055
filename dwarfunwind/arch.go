// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

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
