// SPDX-License-Identifier: Apache-2.0

// Package elffile reads untrusted ELF files: ELF64, little-endian, x86-64 and arm64 (System V gABI, chapters 4, 5).
//
// A file is an [io.ReaderAt] and a size: on a disk, in another process's memory (the vDSO), or in another file
// (.gnu_debugdata). Open reads the headers; the rest is read on demand.
//
//	0          e_phoff                                           e_shoff
//	├─ header ─┼─ program headers (segments) ─┼─ contents … ─┼─ section headers ─┤
//
// # Invariants
//
// The file is never mapped: truncation would raise SIGBUS. Offsets and sizes are checked against the file's size.
// Counts and decompressed sizes have limits, and memory is taken from a [filememory.Account] before it is allocated.
// With damaged section headers Open succeeds: the program headers suffice for most uses.
//
// A File and its Windows are not safe for concurrent use.
package elffile
