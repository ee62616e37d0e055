// SPDX-License-Identifier: Apache-2.0

// Package symbols tells which function, inlined calls, file and line an address
// of a program belongs to.
//
// # Algorithm
//
// A [Table] answers for one file and asks, in this order: Go's own table where the file has one (it knows inlining
// and survives stripping). Then come DWARF debug information, the file's or that of its separate debug file
// (package dwarfinfo). The ELF symbol table. At last, of files that no distribution has installed, the bounds of
// functions in call frame information: "prog+0x1600". Each is opened when it is first needed. Package perfmap (of
// internal/runtimes) answers for code that a JIT compiler made.
//
// Separate debug files are looked for as GDB does (GDB manual, "Debugging Information in Separate Files"): by build
// id, then by .gnu_debuglink. A file is believed if its build id is the same, or else if its CRC-32 is the one in the
// link. What several debug files share is found through .gnu_debugaltlink.
//
// # Which name
//
// Several ELF symbols can stand for one address. A function is preferred to a label, a symbol with a size to one
// without. So is an exported one to a local one, the one with fewer leading underscores, the default version, the
// shorter one: so "write" and not "__libc_write". Symbols without a size reach to the next symbol or the end of
// their section. Entries of the procedure linkage table get the name of what they jump to, as objdump writes it:
// "malloc@plt".
//
// Debug information names functions as the source does. Where the symbol of a function that has code is better by
// these rules, it is used instead. So a function has the same name on machines with and without debug information.
//
// A [Frame] has two names. System is the linkage name as it stands in the file. Name is for people: C++ and Rust
// demangled, without parameters (they make profiles unreadable) but with template arguments (they tell functions
// apart), without Rust's hash. The suffixes of copies that a compiler makes of a function (.part.0, .constprop.0,
// .isra.0, .lto_priv.0, .llvm.123) are dropped, as they are the same source. .cold is kept where only the symbol is
// known, because such code is a part of its own. With DWARF it belongs to the function.
package symbols
