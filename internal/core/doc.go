// SPDX-License-Identifier: Apache-2.0

// Package core reads core files: a process as the kernel, or gdb, wrote it down when it ended.
//
// [Open] gives the same modules for a core file as package code for a live process. Registers and the list of mapped
// files come from its notes (include/uapi/linux/elf.h, fs/binfmt_elf.c), memory from its PT_LOAD segments.
//
// A file is used if its build id is the one in the core's own copy of its headers, or, without one, if the headers are
// equal. Else what the core holds of it is used. gdb leaves unchanged parts of files out of the program headers; which
// of them are code is then read from the file's. Code that neither the core nor a file has ends a walk: a search of the
// stack for the next return address would leave frames out unseen.
//
// What stands in the way is an [*Error] with the cause and the next step.
package core
