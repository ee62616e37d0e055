// SPDX-License-Identifier: Apache-2.0

// Package dwarfinfo answers, from DWARF debug information, which function, which
// inlined calls, which file and which line an address belongs to.
//
// # Algorithm
//
// Nothing is read before the first question. Then the unit headers of .debug_info (DWARF 5 §7.5.1) are chained
// through, and of each unit only the first entry is decoded, which holds the unit's address ranges. Where it holds
// none, .debug_aranges is asked (§6.1.2). The ranges, sorted, lead from an address to its unit. A unit is read when
// an address first falls into it, once:
//
//   - its entries, of which only subprograms and inlined calls with code are kept (§3.3). Their nested ranges are
//     flattened into one sorted list of "from this address on, this is the innermost call". A lookup then is a
//     bisection and a climb to the parents;
//   - its line number program (§6.2), run into rows, sorted by address.
//
// Names are resolved when first asked for, through DW_AT_abstract_origin and
// DW_AT_specification, across units and into the supplementary file that dwz
// writes. The innermost call's line is the line table's; that of each caller is
// the DW_AT_call_line of the call that was inlined into it.
//
// DWARF 2 to 5, 32-bit and 64-bit formats, little-endian, are understood. Of
// split DWARF (.dwo files) the skeleton units give lines only.
//
// # Hostile input
//
// All reading goes through a cursor that cannot leave its section, and references are followed a bounded number of
// times. Every step is paid for from a budget in proportion to the size of the sections, so that overlapping tables
// cost neither time nor memory without end. When the budget is spent, the data answers no further questions than
// those that it has parsed.
//
// The standard library's debug/dwarf was not used because it decodes all
// abbreviation tables up front and allocates for each entry.
package dwarfinfo
