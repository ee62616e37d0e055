// SPDX-License-Identifier: Apache-2.0

// Package code is the code that a process runs, as modules of package frames.
//
// # Modules
//
// A [Process] is a process.Process with its modules. [Process.Refresh] reads /proc/PID/maps. Each executable mapping
// is a module; one that has not changed keeps its module. Code comes from one of three places:
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
// Package core makes the same modules of core files. What it has in common with a live process is an [AddressSpace].
//
// # Images
//
// An [Image] is an ELF file whose code runs. It has the sources of rules for its code: Go's table, call frame
// information, that of debug files, and the analysis of its instructions. An [ImageCache] shares images among the
// processes that run them. Opening a process reads no more of a file than its headers. The sources are made when the
// first rule is asked for.
//
// # Run-time systems
//
// [Runtimes] finds the systems of internal/runtimes in a process or a core (detect.go), and lets them adopt the code
// that they have made. What a file itself tells of one is here: golang.go, perfmap.go.
package code
