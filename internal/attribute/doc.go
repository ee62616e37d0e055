// SPDX-License-Identifier: Apache-2.0

// Package attribute divides the time of threads among the stacks of their samples: events in, intervals out. Answers of
// the kernel ([ProcSource]) are input too: a recorded stream gives the same intervals again (replay_test.go).
//
// # Algorithm
//
// The kernel counts each thread's time on a processor (cpu) and queued for one (runqueue): /proc/PID/task/TID/schedstat
// (CONFIG_SCHED_INFO). Between two samples of a thread
//
//	wall    ├──────────────────────── Δwall ─────────────────────────┤
//	        │ blocked = Δwall − Δcpu − Δrunqueue │ runqueue │  cpu   │
//	goes to   the stack that slept                 queued     on CPU at the end
//
// A [Ledger] gives each part to one stack. Time that fits none is carried to the next sample, or goes to a synthetic
// frame. An account begins with the thread's listing, creation or first sample, and ends with its last sample or the
// recording:
//
//	Σ cpu of intervals = cpu at the account's end − cpu at its begin
//
// # Unobserved time
//
// The rest of a [Process] is of ended threads:
//
//	unobserved = CPU time of ended threads − Σ their cpu at their last samples
//
// Samples share it by weight ([timePool]); an excess within the sampling error raises all weights, the rest goes to a
// synthetic frame:
//
//	part of a sample = min(time, Σ weights) × its weight / Σ weights
//
// Short-lived threads ([threadPool]): a sample at a random moment stands for the time between two ticks, T, but a new
// thread's has only x, the CPU time since the one before. In expectation each place misses as much, after last samples
// or in threads without one, if ticks are independent of thread creation (docs/design.md). If x > T (after a wait), x −
// T is unobserved, too:
//
//	weight = T − x
//
// System calls: a sample of a thread with many shows its place only if taken on its own processor (package skid). The
// others give their weights to those:
//
//	weight = T − x + Σ weights of samples that skid / number of proven samples
//
// Unobserved children ([ProcessTree]): a wait adds the time of the child and its children to the parent's cutime and
// cstime. A child without a wait adds nothing: a zombie, an orphan, one of a process that ignores SIGCHLD:
//
//	time = growth of cutime + cstime − CPU time of the observed children and theirs
//
// Samples of such children share it ([childPool]), by the kernel or by ticks that find one on a processor:
//
//	weight = T
//
// Programs: recorded switches (package descendants) give each program's time, which its samples share. The excess is
// mostly of exits, after a child's last record:
//
//	time of a program = its counted time + excess × its ended children / all ended children
//
// Missed samples ([missedSamples]): samples without a place, by chance, give their weights to others of their program:
//
//	weight = T + Σ weights of missed samples / number of placed samples
//
// [Gaps] are times without any sample. Of a thread that ran within one is
//
//	not observed = Δcpu × length of the gap / Δwall
//
// # Sources
//
// proc_pid_stat(5), fields 16 and 17; kernel/sched/stats.h (schedstat); kernel/exit.c, wait_task_zombie (cutime,
// cstime).
package attribute
