// SPDX-License-Identifier: Apache-2.0

// Package pace decides when a tick is made, which threads it observes, and what their stops show. It belongs to the
// tracer's goroutine, and allocates nothing in the steady state.
//
//	ticks.go          times of ticks, at random distances about the period; which of the due threads a tick observes
//	overheadbudget.go rate, ticks withheld, and threads of a tick for --max-overhead
//	quota.go          ticks withheld for prywalk's own CPU quota
//	gaps.go           time in which nothing was observed
//	backoff.go        which sleeping threads are not observed at a tick (for how long: backofflength.go)
//	stopclassifier.go whether a stop shows where CPU time was spent (preemption.go, cpuchooser.go)
//
// # Back-off
//
// An observation of a sleeping thread costs one read of a /proc file. Threads found unchanged for long are observed
// less often ([backoffLength]), at random, so that threads that fell asleep together are not due together. A thread
// found changed is observed at every tick again.
//
// An unchanged run count proves that the stack was the same at all ticks since the last observation. A changed one ends
// a longer interval than usual, in which the first stack of a burst is not observed. With kernel samples, which show
// the bursts, back-offs may be longer.
//
// While the process's clock stands still, no thread has left a CPU: threads that fall due stay backed off, up to about
// prolongedUpTo after their observation. If it has moved by more than the observed threads explain, a backed-off
// thread has run: those that ran before are observed, then, if these do not explain it, all others. The kernel updates
// a running thread's time at scheduler ticks only (kernel/sched/cputime.c, thread_group_cputime).
//
// With kernel samples, an observation of a sleeper that wakes often shows only where it sleeps. Among many threads,
// observations are then thinned out at random ([Policy.frequentWakerBackoff]), and a sample waits for its thread's next
// observation ([ThreadState.SampleWaits]): its time depends neither on the place of the sleep nor on a recent run, so
// the division of blocked time is right on average.
//
// # Skid
//
// An interrupted thread stops a little later than intended:
//
//	tick      interrupt sent     seen at the next return to user space
//	 │             │                     │
//	 ├─────────────┼── computes ──► syscall ──► stops here, in the call
//
// An interrupt takes some µs to another CPU. The thread's flag is set before, and checked at the end of any system call
// (kernel/entry/common.c, exit_to_user_mode_loop): short code between two calls is hardly ever seen (redis: 38 %
// instead of 6 % in read). The tracer's own CPU has no skid: its timer interrupt is served at once.
//
//   - [StopClassifier] detects threads with many system calls. Their CPU time goes to exact samples: of a thread that
//     the tracer preempted, or that is off its CPU. That of other samples is carried to the next exact one; if there
//     is none for 4 s, inexact samples get it. At ordinary priority, where no thread is stopped on the tracer's CPU,
//     each stop gets its CPU time.
//   - [PreemptionDetector] finds the thread that the tracer's wake-up preempted. Its sample is exact only if the
//     tracer's own timer woke the tracer ([Wake]). If the tracer waited for its CPU, the thread before it ran
//     until it slept: where it sleeps says nothing of its CPU time.
//   - [CPUChooser] chooses the tracer's CPU, so that it preempts such threads. First samples are deferred until the
//     thread is classified (package attribute).
package pace
