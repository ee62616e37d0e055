// SPDX-License-Identifier: Apache-2.0

// Package loadedcode represents the code that a process runs as modules of package frames.
//
// # Modules
//
// A [Process] is a process.Process with its modules. [Process.Refresh] reads /proc/PID/maps; each executable mapping is
// a module, kept while unchanged. Code is of three origins:
//
//   - A file. It is opened through /proc/PID/map_files, else below /proc/PID/root and compared with the mapping
//     ([SameContents]), else read from the process's memory. A file that is replaced later stays open.
//   - The kernel. The vDSO is an ELF image in memory.
//   - The process. Code without an ELF file was made by a JIT compiler and is read from memory; cached results are
//     dropped when it changes. A copy of a file's text at its addresses (Node uses huge pages) counts as the file.
//
// Package core makes the same modules from an [AddressSpace]. An [ImageCache] shares images among processes.
//
//	/proc/PID/maps ──► Mapping ──► frames.Module ──► Sources (frames.Rule by pc)
//	                      │                             ▲
//	                      └──► Image (ELF file) ────────┤ by file
//	                      └──► liveCode, Runtimes ──────┘ code made at run time
//
// Sources: proc_pid_maps(5); gABI; fs/proc/task_mmu.c.
package loadedcode
