// SPDX-License-Identifier: Apache-2.0

// Package dwarfunwind turns call frame information into rules of package frames.
//
//	table, err := dwarfunwind.New(dwarfunwind.Config{Arch: frames.X86_64,
//		EhFrame: dwarfunwind.NewSection(address, bytes)})
//	module.Sources = []frames.RuleSource{table}
//
// # Algorithm
//
// Call frame information says, for each instruction, where the caller's registers are (DWARF 5 §6.4; in .eh_frame:
// Linux Standard Base 5.0, chapter 10). A lookup bisects the table in .eh_frame_hdr, and decodes the frame description
// entry (FDE) that it leads to: the CFA program of the common information entry (CIE), then the FDE's own up to the
// wanted address. Sections without such a table (.debug_frame, some static executables) get a sorted index at the first
// use.
//
// The row is packed into a 16-byte [frames.Rule] where it fits; such a lookup allocates nothing. Decoded CIEs are kept.
//
// Expressions of usual forms become plain rules; others are evaluated when the rule is applied. Delve's evaluator
// (package op) starts with an empty stack, where §6.4.2.2 wants the CFA, panics on an empty one, and allocates as much
// as DW_OP_implicit_value claims. Tests compare the two where both apply.
//
// The input is hostile: entries, remembered rows, steps of an expression, CIEs kept and the index are bounded. A
// damaged entry gives no rule.
package dwarfunwind
