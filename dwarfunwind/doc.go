// SPDX-License-Identifier: Apache-2.0

// Package dwarfunwind turns call frame information into rules of package frames.
//
//	table, err := dwarfunwind.New(dwarfunwind.Config{Arch: frames.X86_64,
//		EhFrame: dwarfunwind.SectionOf(address, bytes)})
//	module.Sources = []frames.RuleSource{table}
//
// # Algorithm
//
// Call frame information describes, for every instruction, where the caller's registers are (DWARF 5 §6.4; the variant
// in .eh_frame: Linux Standard Base 5.0, chapter 10). A lookup bisects the sorted table in .eh_frame_hdr and decodes
// the one frame description entry (FDE) that it leads to. It runs the CFA program of the common information entry
// (CIE), and the FDE's own up to the wanted address. Nothing is parsed ahead. Sections without such a table
// (.debug_frame, some static executables) get a sorted index of their FDEs at the first use.
//
// The row is packed into a 16-byte [frames.Rule] where it fits; such a lookup allocates nothing. Decoded CIEs are
// kept, with the registers that their initial instructions leave.
//
// # Expressions
//
// The usual forms are recognised, and become plain rules. The others are kept, and evaluated when the rule is applied.
// Delve's evaluator (package op) starts with an empty stack, where §6.4.2.2 wants the CFA on it, panics on an empty
// stack, and allocates as much as DW_OP_implicit_value claims, which no recover can catch. Tests compare the two where
// both apply.
//
// # Input is hostile
//
// Every length is checked. An FDE and its program have a maximal size, and so have the stack of remembered rows, the
// steps of an expression, the CIEs kept and the index. A damaged entry gives no rule.
package dwarfunwind
