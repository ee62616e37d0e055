// SPDX-License-Identifier: Apache-2.0

// Package snapshot stores recorded stacks for unwinders in other languages: a process's mappings, and for each stack
// the registers, the bytes, and the true chain of program counters.
//
// # Format
//
// Little-endian; n is a count or length of 4 bytes, w a word of 8.
//
//	"PWSTACK1"
//	n modules, each:  w start, w end, w bias, n length, path
//	n stacks, each:   w pc, 16 w registers (DWARF numbers 0 to 15 of x86-64), w address, n length, bytes,
//	                  n frames, each w pc
//
// bias is added to the file's own addresses. Stacks are those of x86-64.
package snapshot
