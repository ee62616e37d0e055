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
// synthetic frame. For each thread
//
//	Σ cpu of intervals = cpu at the account's end − cpu at its begin
//
// A thread's account begins with its listing, creation or first sample, and ends with its last sample or the recording.
//
// # Unobserved time
//
// No sample of a living thread accounts for the rest of a [Process]:
//
//	unobserved = CPU time of ended threads − Σ their cpu at their last samples
//
// Samples share such time by weight, up to the weights' sum ([timePool]); an excess within the sampling error raises
// all weights, the rest goes to a synthetic frame:
//
//	part of a sample = min(time, Σ weights) × its weight / Σ weights
//
// Short-lived threads ([threadPool]): a sample at a random moment stands for the time between two ticks, T, but an
// on-CPU sample of a new thread has only x, the CPU time since the one before. What it misses is time of ended threads,
// after their last sample or of threads without one; in expectation each place misses as much, if ticks are independent
// of thread creation (docs/design.md). If x exceeds T (after a wait), the rest is unobserved, too:
//
//	weight = T − x
//
// System calls: a sample of a thread with many of them shows its place only if taken on its own processor (package
// skid). The others give their weights to those:
//
//	weight = T − x + Σ weights of samples that skid / number of proven samples
//
// Unobserved children ([ProcessTree]): when a parent waits for a child, the kernel adds the time of the child and its
// children to the parent's cutime and cstime. An observed child counts with its own time and that of its children, so
// nothing is counted twice. A child that is not waited for adds nothing: a zombie, an orphan, a child of a process that
// ignores SIGCHLD:
//
//	time = growth of cutime + cstime − CPU time of the observed children
//
// It is shared among samples of such children ([childPool]), by the kernel or by ticks that find one on a processor:
//
//	weight = T
//
// Programs: where switches are recorded (package descendants), the time of each program is known, and shared among its
// samples. Time beyond it is mostly of exits, after a child's last record:
//
//	time of a program = its counted time + excess × its ended children / all ended children
//
// Missed samples ([missedSamples]): to be missed does not depend on what a child does. So samples without a place give
// their weights to those of the same program:
//
//	weight = T + Σ weights of missed samples / number of placed samples
//
// [Gaps] are times in which no thread was sampled. A thread that ran within one has its part not observed:
//
//	not observed = Δcpu × length of the gap / Δwall
//
// # Sources
//
// proc_pid_stat(5), fields 16 and 17; kernel/sched/stats.h (schedstat); kernel/exit.c, wait_task_zombie (cutime,
// cstime).
package attribute
