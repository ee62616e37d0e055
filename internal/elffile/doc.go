// SPDX-License-Identifier: Apache-2.0

// Package elffile reads untrusted ELF files: ELF64, little-endian, x86-64 and AArch64 (System V gABI, chapters 4
// and 5).
//
// A file is an [io.ReaderAt] and a size: on a disk, in another process's memory (the vDSO), or in another file
// (.gnu_debugdata). Open reads the headers; everything else is read on demand.
//
//	0          e_phoff                                           e_shoff
//	├─ header ─┼─ program headers (segments) ─┼─ contents … ─┼─ section headers ─┤
//
// # Invariants
//
// The file is never mapped: truncation of a mapped file raises SIGBUS in its reader. Every offset and size is
// checked against the file's size before use. Counts and decompressed sizes have limits, and nothing is allocated
// for a merely claimed size. Damaged section headers do not fail Open: the program headers suffice for most uses.
//
// Big sections are read through a [Window], which caches a bounded number of 64 KiB blocks. Symbols are named on
// demand.
//
// A File and its Windows are not safe for concurrent use.
package elffile
