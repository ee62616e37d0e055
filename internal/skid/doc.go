// SPDX-License-Identifier: Apache-2.0

// Package skid corrects for interrupt skid: an interrupted thread stops a little later than intended.
//
// # Cause
//
//	tick      interrupt sent     seen at the next return to user space
//	 │             │                     │
//	 ├─────────────┼── computes ──► syscall ──► stops here, in the call
//
// An interrupt takes some µs to another CPU. The thread's flag is set before, and checked at the end of any system call
// (kernel/entry/common.c, exit_to_user_mode_loop): short code between two calls is hardly ever seen (redis: 38 %
// instead of 6 % in read). The tracer's own CPU has no skid: its timer interrupt is served at once.
//
// # Algorithm
//
//   - [SyscallStops] detects threads with many system calls. Their CPU time goes to exact samples: of a thread that
//     the tracer preempted, or that is off its CPU. That of other samples is carried to the next exact one; if there
//     is none for 4 s, inexact samples get it. At ordinary priority, where no thread is stopped on the tracer's CPU,
//     each stop gets its CPU time.
//   - [PreemptionDetector] finds the thread that the tracer's wake-up preempted. Its sample is exact only if the
//     tracer's own timer woke the tracer ([Wake]). If the tracer waited for its CPU, the thread before it ran
//     until it slept: where it sleeps says nothing of its CPU time.
//   - [CPUChooser] chooses the tracer's CPU, so that it preempts such threads. First samples are deferred until the
//     thread is classified (package attribute).
package skid
