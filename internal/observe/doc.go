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
// The run count is the third field of /proc/PID/task/TID/schedstat: how often the thread arrived on a CPU. It is a
// sequence lock written by the scheduler. If it equals that of the last observation, made while the thread was off the
// CPU, the stack is unchanged. If it is equal before and after a passive read, the read is consistent.
//
// A queued thread stops only when it is scheduled, so [Observer.Collect] and [Observer.Serve] finish the stops later
// (pending.go). Another goroutine walks the [RawSample], and passes back only hints what to copy next ([WalkFeedback],
// copier.go).
//
// # Exec
//
// A thread stops at the end of its exec, with the new program's registers. Reads of the old address space return 0
// bytes; the memory is then opened again and the stop requested once more (reopenAfterExec). A thread other than the
// first that calls exec gets the first one's ID, and is detached under that (ptrace: reports.go, begin.go). New names
// and mappings: docs/design.md.
//
// # Invariants
//
//   - A sleeper is not stopped: that would stretch time-outs. The exception is a missing register that only a stop
//     proves: one stop in a sleep, in calls that it does not harm (keptregs.go, interruptible.go).
//   - All methods of an [Observer] run on its controller's OS thread, and allocate nothing in the steady state.
//   - While a thread is stopped, no read waits for a page or a lock if that is known before (maplock.go, procmem).
//
// # Sources
//
// Documentation/scheduler/sched-stats.rst; proc_pid_syscall(5); kernel/sched/stats.h, sched_info_arrive; ptrace(2).
package observe
