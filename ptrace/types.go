// SPDX-License-Identifier: Apache-2.0

package ptrace

import "prywalk/internal/host/procmem"

type (
	// SchedStat is a thread's scheduler counts (/proc/TID/schedstat).
	SchedStat = procmem.SchedStat
	// SyscallInfo is a thread's system call (/proc/TID/syscall).
	SyscallInfo = procmem.SyscallInfo
	// ThreadFiles are a thread's /proc files.
	ThreadFiles = procmem.ThreadFiles
	// Memory is a process's memory.
	Memory = procmem.Memory
	// Span is a mapping of a [Memory].
	Span = procmem.Span
	// SpanKind is what a [Span] holds.
	SpanKind = procmem.SpanKind
	// SyscallThreads are threads that read memory for a [Memory].
	SyscallThreads = procmem.SyscallThreads
	// TaskDir lists the threads of a process.
	TaskDir = procmem.TaskDir
	// FDBudget bounds the files kept open.
	FDBudget = procmem.FDBudget
	// Stat is part of /proc/PID/stat.
	Stat = procmem.Stat
	// Status is part of /proc/PID/status.
	Status = procmem.Status
	// Comm is a thread's name.
	Comm = procmem.Comm
)

// OpenMemory opens the memory of tid's process. The caller closes it.
func OpenMemory(tid int) *Memory { return procmem.OpenMemory(tid) }

// OpenThread returns a thread's files, none of them kept open. It succeeds for a missing thread; reads then fail.
func OpenThread(pid, tid int) *ThreadFiles { return procmem.OpenThread(pid, tid, nil) }

// Now returns CLOCK_MONOTONIC in ns.
func Now() int64 { return procmem.Now() }

// Pin prevents pre-emption of the calling goroutine until [Unpin]; pairs nest. Meanwhile ordinary system calls abort
// the runtime, and garbage collections wait. They do not during the waits of a [Controller], which hand back the P.
func Pin() { procmem.Pin() }

// Unpin ends [Pin].
func Unpin() { procmem.Unpin() }
