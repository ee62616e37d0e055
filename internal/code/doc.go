// Package code is the code that a process runs, live or as a core file has it, as modules of package frames.
//
// # Modules
//
// [Process.Refresh] reads /proc/PID/maps. Each executable mapping is a module; one
// that has not changed keeps its module. Code comes from one of three places:
//
//   - A file. Its own inode is opened through /proc/PID/map_files where the kernel
//     allows; else the path is opened below /proc/PID/root and is compared with the
//     mapping. A file that was replaced, or cannot be read, is read from the
//     process's memory instead, where its headers and call frame information are
//     loaded.
//   - The kernel. The vDSO is an ELF image in memory.
//   - The process. Code without an ELF file was made by a JIT compiler; it is read as
//     it is now, and what was concluded from it is dropped when it changes.
//     Anonymous memory that holds a copy of a file's text at the addresses of that
//     file (Node moves its text to huge pages) counts as the file.
//
// # Cores
//
// [OpenCore] gives the same modules for a core file: registers and the list of mapped
// files from its notes (include/uapi/linux/elf.h, fs/binfmt_elf.c), memory from its
// PT_LOAD segments. A file is used if its build id is the one in the core's own copy of
// its headers, or, without one, if the headers are equal; else what the core holds of it.
// gdb leaves unchanged parts of files out of the program headers; which of them are code
// is then read from the file's. Code that neither the core nor a file has ends a walk:
// a search of the stack for the next return address would leave frames out unseen.
//
// # Cost
//
// Opening a process reads no more of a file than its headers. The sources of rules
// are made when the first rule is asked for, and an [Image] is shared by all
// processes that run it.
package code
