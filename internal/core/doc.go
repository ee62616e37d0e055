// SPDX-License-Identifier: Apache-2.0

// Package core reads core files, as written by the kernel or gdb.
//
// [Open] gives the same modules for a core as package code for a live process. Registers and the list of mapped files
// are in its notes (include/uapi/linux/elf.h, fs/binfmt_elf.c), memory in its PT_LOAD segments.
//
// A file is used if its build id, or without one its headers, equal the core's copy of them. Otherwise the core's own
// contents are used. gdb omits unchanged parts of files from the program headers; which of them are code is then read
// from the file's. Code in neither the core nor a file ends a walk: a search of the stack for the next return address
// would omit frames unnoticed.
//
// A failure is an [*Error] with cause and next step.
package core
