// SPDX-License-Identifier: Apache-2.0

// Package elffile reads untrusted ELF files.
//
// # What it reads
//
// ELF64, little-endian, x86-64 and AArch64 (System V gABI, chapters 4 and 5): the headers at once, everything else on
// demand. A file is an [io.ReaderAt] and a size: on a disk, in another process's memory (the vDSO), or inside of
// another file (.gnu_debugdata).
//
//	0          e_phoff                                           e_shoff
//	├─ header ─┼─ program headers (segments) ─┼─ contents … ─┼─ section headers ─┤
//
// # Invariants
//
// The file is never mapped: truncation of a mapped file raises SIGBUS in its reader. Every offset and size is checked
// against the file's size before use. Every count has a limit, decompression stops at a limit, and nothing is
// allocated for a merely claimed size. Damaged section headers, common in hostile and stripped files, do not fail
// Open: the program headers suffice for most uses.
//
// Big sections are read through a [Window] with a bounded number of 64 KiB blocks; symbols are 24 bytes each and are
// named on demand.
//
// A File and its Windows are not safe for concurrent use.
package elffile
