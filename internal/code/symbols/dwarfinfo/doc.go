// SPDX-License-Identifier: Apache-2.0

// Package dwarfinfo maps an address to its function, inlined calls, file and line: DWARF 2 to 5, 32-bit and 64-bit
// format, little-endian. Of split DWARF (.dwo files), the skeleton units give lines only.
//
// # Algorithm
//
// The first query traverses the unit headers of .debug_info (DWARF 5 §7.5.1), and decodes each unit's first entry for
// its ranges. A unit is read once, on first use:
//
//   - its entries, of which only subprograms and inlined calls with code are kept (§3.3). Their nested ranges are
//     flattened into one list, sorted by address, of the innermost calls; outer ones are found by links to parents;
//   - its line number program (§6.2), run into rows sorted by address.
//
// Nested and flattened ranges of a unit:
//
//	nested ranges   │ main ────────────────────────│
//	                │      │ inlined f ────│       │
//	flattened       │ main │ f             │ main  │
//
// Names are resolved on first use, through DW_AT_abstract_origin and DW_AT_specification, across units and into dwz's
// supplementary file. A caller's line is DW_AT_call_line of the call inlined into it.
//
// # Hostile input
//
// Reads cannot leave their section, and references are followed a bounded number of times. Every step is charged to a
// budget in proportion to the sections' size. When it is used up, reading ends, and what was read remains in use.
//
// debug/dwarf has no such bounds: it allocates the number of files that a line table claims. It also takes three times
// the time or more, as it reads entries with all attributes.
package dwarfinfo
