// SPDX-License-Identifier: Apache-2.0

package ptrace

import "prywalk/internal/procmem"

type (
	// SchedStat is a thread's scheduler counts (/proc/PID/schedstat).
	SchedStat = procmem.SchedStat
	// SyscallInfo is a thread's system call (/proc/PID/syscall).
	SyscallInfo = procmem.SyscallInfo
	// ThreadFiles are a thread's files below /proc.
	ThreadFiles = procmem.ThreadFiles
	// Memory is the memory of one process.
	Memory = procmem.Memory
	// Span is a mapping of a [Memory].
	Span = procmem.Span
	// SpanKind is what a [Span] holds.
	SpanKind = procmem.Kind
	// Relays are threads that read for a [Memory].
	Relays = procmem.Relays
	// TaskDir lists the threads of a process.
	TaskDir = procmem.TaskDir
	// Budget bounds the files kept open.
	Budget = procmem.Budget
	// Stat is a part of /proc/PID/stat.
	Stat = procmem.Stat
	// Status is a part of /proc/PID/status.
	Status = procmem.Status
	// Comm is a thread's name.
	Comm = procmem.Comm
)

// OpenMemory opens the memory of a thread's process, which the caller closes.
func OpenMemory(tid int) *Memory { return procmem.OpenMemory(tid) }

// OpenThread gives a thread's files, none kept open. A missing thread shows at the first read.
func OpenThread(pid, tid int) *ThreadFiles { return procmem.OpenThread(pid, tid, nil) }

// Now gives CLOCK_MONOTONIC in ns.
func Now() int64 { return procmem.Now() }
