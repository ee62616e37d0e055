// SPDX-License-Identifier: Apache-2.0

// Package snapshot holds recorded stacks in a form that unwinders written in other languages read easily. It says
// where the files of a process lie in its memory, and for each stack the registers, the bytes, and the chain of
// program counters that is right.
//
// # Format
//
// Everything is little-endian; n stands for a count or length of 4 bytes, w for a word of 8.
//
//	"PWSTACK1"
//	n modules, each:  w start, w end, w bias, n length, path
//	n stacks, each:   w pc, 16 w registers (DWARF numbers 0 to 15 of x86-64), w address, n length, bytes,
//	                  n frames, each w pc
//
// bias is what is added to the file's own addresses. Stacks are those of x86-64.
package snapshot
