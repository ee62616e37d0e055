// SPDX-License-Identifier: Apache-2.0

// Package elffile reads ELF files that nobody vouches for.
//
// # What it reads
//
// ELF64, little-endian, x86-64 and AArch64 (System V gABI, chapters 4 and 5): the
// headers at once, everything else when it is asked for. The file may be on a
// disk, in another process's memory (the vDSO) or inside of another file
// (.gnu_debugdata); it is an [io.ReaderAt] and a size.
//
// # How it stays safe
//
// The file is never mapped into memory: a mapped file that somebody truncates raises SIGBUS in the reader. Every
// offset and size is checked against the size of the file before it is used. Every count has a limit, decompression
// stops at a limit, and nothing is allocated for a size that the file merely claims. Section headers are what
// hostile and stripped files get wrong, so damage there does not stop Open: the program headers suffice for most
// uses.
//
// # How it stays lazy
//
// Big sections are read through a [Window], which keeps a bounded number of
// 64 KiB blocks; symbols are 24 bytes each and get a name only when asked.
//
// A File and its Windows are for one goroutine at a time.
package elffile
