// SPDX-License-Identifier: Apache-2.0

// Package dwarfunwind turns call frame information into rules of package frames.
//
//	table, err := dwarfunwind.New(dwarfunwind.Config{Arch: frames.X86_64,
//		EhFrame: dwarfunwind.Section{Addr: address, Size: size, Data: viewer}})
//	module.Sources = []frames.RuleSource{table}
//
// # Algorithm
//
// Call frame information describes, for each instruction, the places of the caller's registers (DWARF 5 §6.4; in
// .eh_frame: Linux Standard Base 5.0, chapter 10). A lookup bisects the table in .eh_frame_hdr to a frame description
// entry (FDE). It runs the CFA program of the common information entry (CIE), then the FDE's own up to the address.
// Sections without a table (.debug_frame, some static executables) get a sorted index at the first use.
//
// A row that fits becomes a 16-byte [frames.Rule]; such a lookup allocates nothing. Decoded CIEs are kept.
//
// Expressions of usual forms become plain rules; others are evaluated when the rule is applied. Tests compare the
// evaluator with delve's (package op) where both apply.
//
// The input may be hostile: entries, remembered rows, steps of an expression, CIEs kept and the index are bounded. A
// damaged entry gives no rule.
package dwarfunwind
