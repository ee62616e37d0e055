// SPDX-License-Identifier: Apache-2.0

// Package procmem reads other processes' memory and small files under /proc.
//
// # Files
//
//	memory of a process   memory.go span.go query_unsafe.go addressspace.go mmaplockwatch.go readvm.go
//	its files in /proc    threadfiles.go taskdir.go fdbudget.go
//	  their formats       sched.go calls.go stat.go status.go, with cursor.go
//	addresses of arm64    pacmask_aarch64.go
//	registers             userregs.go, of ptrace(2) and of core files
//	own OS threads        osthread.go, syscallthread.go (reads of memory), pathopener.go (lookups of paths)
//	raw calls             sys_unsafe.go clock.go clock_unsafe.go, counted in calls.go
//
// [Memory.Copy] reads a process's memory without waiting for pages; [ReadVM] waits for them. [ThreadFiles] keeps a
// thread's files open, within a [FDBudget], and reads them by pread at offset 0. A kept descriptor belongs to its
// thread: after the thread's end reads return [errs.Exited], even if the id is reused. Reads of open files allocate
// nothing.
//
// # Calls by other threads
//
// A tracer with a stopped thread, or with real-time priority, leaves calls to threads unknown to the Go runtime: reads
// of memory to [SyscallThreads], lookups of paths to a [PathOpener].
//
// Few packages may use unsafe (internal/layers): so clocks, and words of ring buffers for package perfevents, are here.
//
// Sources: proc(5); fs/proc/array.c, fs/proc/base.c.
package procmem
