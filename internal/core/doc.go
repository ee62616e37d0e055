// SPDX-License-Identifier: Apache-2.0

// Package core reads core files written by the kernel or gdb.
//
// [Open] makes of a core the same modules as package code does of a live process. Registers and the list of mapped
// files are in its notes (include/uapi/linux/elf.h, fs/binfmt_elf.c), memory in its PT_LOAD segments.
//
// A file is used if its build id, or without one its headers, equal the core's copy; else the core's contents are used.
// gdb writes no program header for an unchanged part of a file: whether it is code follows from the file's own program
// headers. Code in neither the core nor a file ends a walk, as a search of the stack for a return address would omit
// frames unnoticed.
//
// Errors are of type [*Error], with cause and remedy.
package core
