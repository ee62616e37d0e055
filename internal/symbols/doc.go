// SPDX-License-Identifier: Apache-2.0

// Package symbols maps an address of a program to its function, inlined calls, file and line (symbolization).
//
// # Algorithm
//
// A [Table] serves one file, from these sources in order; each is opened on first use:
//
//	Go's table         inlining included; survives stripping (package golang)
//	DWARF              of the file, or of its separate debug file (package dwarfinfo)
//	ELF symbol table   .symtab, .dynsym; PLT entries by decoding their jumps
//	CFI bounds         of files that no distribution installed: "prog+0x1600"
//
// Package perfmap (of internal/runtimes) serves code of JIT compilers.
//
// Separate debug files are searched for as by GDB (GDB manual, "Debugging Information in Separate Files"), by build
// id, then by .gnu_debuglink, and verified by build id, else by the link's CRC-32. Shared parts are found through
// .gnu_debugaltlink.
//
// # Choice of a name
//
// Of several ELF symbols with one address these are preferred, in order: a function to a label, one with a size, an
// exported one, fewer leading underscores, the default version, the shorter name: "write", not "__libc_write". A
// symbol that is better than the name in debug information is used instead of it: a function has the same name with
// and without debug information. PLT entries are named as by objdump: "malloc@plt". A symbol without a size extends
// to the next symbol or the end of its section.
//
// A [Frame] has two names. System is the linkage name in the file. Name is for display: C++ and Rust demangled,
// without parameters but with template arguments, without Rust's hash and without the suffixes of compilers' copies
// (.part.0, .constprop.0, .isra.0, .lto_priv.0, .llvm.123). .cold is kept if only the symbol is known; with DWARF
// such a part belongs to its function.
package symbols
