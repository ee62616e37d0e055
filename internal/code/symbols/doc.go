// SPDX-License-Identifier: Apache-2.0

// Package symbols maps an address of a program to its function, inlined calls, file and line (symbolization).
//
// A [Table] serves one file, from these sources in order; each is opened on first use:
//
//	Go's table         inlining included; survives stripping (package golang)
//	DWARF              of the file, or of its separate debug file (package dwarfinfo)
//	ELF symbol table   .symtab, .dynsym; PLT entries by decoding their jumps
//	CFI bounds         of stripped files that no distribution installed: "prog+0x1600"
//
// Package perfmap serves code of JIT compilers. Separate debug files are found as by GDB (GDB manual, "Debugging
// Information in Separate Files"), by build id or .gnu_debuglink, and verified; shared parts through .gnu_debugaltlink.
//
// # Choice of a name
//
// Of ELF symbols at one address these are preferred, in order: a function to a label, one with a size, a global or weak
// one, fewer leading underscores, the default version, the shorter name: "write", not "__libc_write". A better symbol
// replaces the name in debug information. PLT entries are named as by objdump: "malloc@plt". A symbol without a size
// extends to the next symbol or its section's end, at most 16 KiB; one of .dynsym on x86-64 not beyond its code.
//
// A [Frame] has two names. System is the linkage name. Name is for display: C++ and Rust demangled, without parameters,
// Rust's hash and the suffixes of compilers' copies (.part.0, .constprop.0), with template arguments. .cold stays if
// only the symbol is known; with DWARF it belongs to its function.
package symbols
