// SPDX-License-Identifier: Apache-2.0

// Package attribute divides the time of threads among the stacks in which they were sampled: events in, intervals
// out. Answers of the kernel ([ProcSource]) are input too, so a recorded stream gives the same intervals again
// (replay_test.go).
//
// # Algorithm
//
// The kernel counts each thread's time on a processor (cpu) and queued for one (runqueue):
// /proc/PID/task/TID/schedstat (CONFIG_SCHED_INFO). Between two samples of a thread
//
//	wall    ├──────────────────────── Δwall ─────────────────────────┤
//	        │ blocked = Δwall − Δcpu − Δrunqueue │ runqueue │  cpu   │
//	goes to   the stack that slept                 queued     on CPU at the end
//
// A [Ledger] gives each part to one stack. Time that fits no stack is carried to the next sample, or goes to a
// synthetic frame. Invariant, for each thread:
//
//	Σ cpu of intervals = cpu at the last sample − cpu at the first
//
// A [Process] has the time that no sample of a living thread accounts for:
//
//	unobserved = growth of the process's clock − Σ cpu of its threads
//
// It is distributed among samples of ended threads by weight ([threadPool]). A [ProcessTree] has the time of
// processes that are not sampled. [Gaps] are the times in which no thread was sampled.
//
// # Sources
//
// proc_pid_stat(5); kernel/sched/stats.h (schedstat); kernel/exit.c, wait_task_zombie (cutime, cstime).
package attribute
