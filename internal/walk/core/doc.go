// SPDX-License-Identifier: Apache-2.0

// Package core reads core files written by the kernel or gdb.
//
// Registers and the list of mapped files are in notes (include/uapi/linux/elf.h, fs/binfmt_elf.c), memory in PT_LOAD
// segments.
//
// A file is used if its build id, or without one its first KiB and the mapping ([loadedcode.SameContents]), equal the
// core's copy, and, with a warning, if the core has no headers and the file was not deleted; else the core's contents.
// gdb writes no program header for an unchanged part of a file: the file's own say whether it is code. Code in neither
// the core nor a file ends a walk, as a search of the stack would omit frames unnoticed.
package core
