// SPDX-License-Identifier: Apache-2.0

package ptrace

import "prywalk/internal/procmem"

type (
	// SchedStat is what the scheduler counts for a thread (/proc/PID/schedstat).
	SchedStat = procmem.SchedStat
	// SyscallInfo is the system call that a thread is in, as /proc/PID/syscall shows it.
	SyscallInfo = procmem.SyscallInfo
	// ThreadFiles are the files of one thread below /proc.
	ThreadFiles = procmem.ThreadFiles
	// Memory is the memory of one process, with what is known of its mappings.
	Memory = procmem.Memory
	// Span is a mapping of a [Memory].
	Span = procmem.Span
	// SpanKind is what a [Span] holds.
	SpanKind = procmem.Kind
	// Relays read for a [Memory] with several threads.
	Relays = procmem.Relays
	// TaskDir lists the threads of a process.
	TaskDir = procmem.TaskDir
	// Budget bounds how many files are kept open.
	Budget = procmem.Budget
	// Stat is a part of a thread's /proc/PID/stat.
	Stat = procmem.Stat
	// Status is a part of a thread's /proc/PID/status.
	Status = procmem.Status
	// Comm is a thread's name.
	Comm = procmem.Comm
)

// OpenMemory opens the memory of the process that has a thread of this number. The caller closes it.
func OpenMemory(tid int) *Memory { return procmem.OpenMemory(tid) }

// OpenThread gives the files of a thread. Nothing is kept open; a thread that does not exist shows at the first read.
func OpenThread(pid, tid int) *ThreadFiles { return procmem.OpenThread(pid, tid, nil) }

// Now gives the time on the clock of all looks: CLOCK_MONOTONIC, in nanoseconds.
func Now() int64 { return procmem.Now() }
