// SPDX-License-Identifier: Apache-2.0

// Package observe observes one thread at a time: a true stack, in the cheapest way that can be proved right.
//
// # Algorithm
//
// [Observer.Begin] tries, in this order ([Outcome]):
//
//	unchanged     Unchanged  sleepevidence.go  the thread has not run since its last observation: one read
//	passive read  Done       passiveread.go    the thread sleeps: registers and stack by /proc, proved by its run count
//	stop          Pending    stop.go           the thread runs, or lacks a register: package ptrace, for tens of µs
//
// The run count, the third field of /proc/PID/task/TID/schedstat, counts arrivals on a CPU. If it equals that of the
// last observation off the CPU, the stack is unchanged. If it is equal before and after a passive read, the read is
// consistent.
//
// A queued thread stops only when it is scheduled: [Observer].Stops.Next and [Observer].Stops.NextStopped finish stops
// later. Another goroutine walks the [RawSample], and passes back what to copy next ([WalkFeedback]).
//
// # What is copied
//
// The thread is stopped meanwhile, so a copy is enough for a complete walk, and little more:
//
//	copylearner.go  how much of the stack, and which places on others, learned from walks
//	plancopier.go   what a runtime's plan names ([managed.Plan])
//	taskstack.go    the stack of the goroutine that a thread has left
//
// # Exec
//
// A thread stops at the end of its exec, with the new program's registers. If another thread than the first calls exec,
// it gets the first one's ID (ptrace: reports.go, begin.go). See package sampler. A thread that enters exec between the
// interrupt and its stop executes under a tracer: a set-user-ID program then gets no rights, unless prywalk has
// CAP_SYS_PTRACE (docs/noticed.md).
//
// # Invariants
//
//   - A recording stops a sleeper only once in a sleep for a missing register, in calls that this does not harm
//     (keptregs.go, interruptible.go), or in a group stop. [StopAll] and [ModeAlwaysStop] stop others, too.
//   - All methods of an [Observer] run on its controller's OS thread, and allocate nothing in the steady state.
//   - While a thread is stopped, no read waits for a page or a lock if that can be known before (mmaplock.go).
//
// # Sources
//
// Documentation/scheduler/sched-stats.rst; proc_pid_syscall(5); kernel/sched/stats.h, sched_info_arrive; ptrace(2).
package observe
