// SPDX-License-Identifier: Apache-2.0

// Package observe observes one thread at a time: a true stack, in the cheapest way that can be proved right.
//
// # Algorithm
//
// [Observer.Begin] tries three ways, in this order ([Outcome]):
//
//	unchanged     Reused   observer.go     the thread has not run since its last observation: one read
//	passive read  Done     passiveread.go  the thread sleeps: registers and stack by /proc, proved by its run count
//	stop          Pending  stop.go         the thread runs, or lacks a register: package ptrace, for tens of µs
//
// The run count is the third field of /proc/PID/task/TID/schedstat: how often the thread arrived on a processor. It is
// a sequence lock whose writer is the scheduler. If it equals that of the last observation, made while the thread was
// off the processor, the stack is unchanged (baseline.go). If it is equal before and after a passive read, the read is
// of one moment.
//
// A queued thread stops only when it is scheduled. So Begin makes every observation that needs no stop, and leaves the
// others to [Observer.Collect] and [Observer.Serve] (pending.go). Copies are as large as the last walks needed
// ([CopyHints], copier.go). Another goroutine walks the [RawSample]; its [WalkFeedback] return hints, the only data
// that flows back.
//
// # Exec
//
// A thread in exec with a stop requested stops on its way back to user space, with the new program's registers. Reads
// of the old address space give 0 bytes; the memory is then opened again and the stop requested once more
// (pending.go, reopenedAfter; procmem.Memory.ReopenIfGone). If another thread than the first one execs, its ID becomes
// the first thread's: waitid by the old ID gives ECHILD, the tracee ends, and a stop under the new ID is detached
// (ptrace, reports.go). A seizure that waits for the exec is freed by ptrace/rescue.go. The program's name and mappings
// are read again at the next listing (tracer, checkExec; aggregator, handleExec).
//
// # Invariants
//
//   - A sleeper is not stopped: that would stretch time-outs. The exception is a register that neither a passive read
//     nor an earlier stop proves: then once in a sleep, in calls that a stop does not harm (keptregs.go,
//     interruptible.go).
//   - All methods of an [Observer] run on its controller's OS thread, and allocate nothing in the steady state.
//   - No read waits for a page or a lock while a thread is stopped, if that is known before (maplock.go, package
//     procmem).
//
// # Sources
//
// Documentation/scheduler/sched-stats.rst; proc_pid_syscall(5); kernel/sched/stats.h, sched_info_arrive; ptrace(2).
package observe
