// SPDX-License-Identifier: Apache-2.0

// Package backoff decides which sleeping threads are not observed at a tick. It belongs to the tracer's goroutine, and
// allocates nothing in the steady state.
//
// # Back-off
//
// An observation of a sleeping thread costs the thread nothing, and prywalk one read of a /proc file. Threads found
// unchanged for long are observed less often: all together take at most one part in sampleShare of the time. A mean
// back-off is at most longestBackoff, stretched by up to maxStretch, and at most one part in sleepShare of the thread's
// sleep so far. Back-offs vary at random, so that threads that fell asleep together are not due together. A thread
// found changed is observed at every tick again.
//
// Thread clocks and the run count are cumulative: a later observation loses no time. An unchanged run count proves that
// the stack was the same at all ticks since the last observation. A changed one ends a longer interval than usual, in
// which the first stack of a burst is not observed. So back-offs stay short until there have been no such bursts
// ([stretch]), with statistics apart for threads that run repeatedly and for those that have not run since their first
// observation.
//
// With kernel samples of running threads, which show the bursts, many threads get the longest back-offs
// ([Thread.backoffLimits]).
//
// # The process's clock
//
// While the clock stands still, no thread has left a CPU: threads that fall due stay backed off, for idleMost at most.
// If it has moved by more than the observed threads explain, a backed-off thread has run. Then those that ran before
// are observed. If these do not explain it, all others are, within one part in searchShare of the time. The clock
// proves nothing, as the kernel updates a running thread's time at scheduler ticks (kernel/sched/cputime.c,
// thread_group_cputime).
//
// # Sleepers that wake often
//
// With kernel samples of running threads, an observation shows only where such a thread sleeps. With many threads,
// observations are then thinned out at random, to one part in restlessShare of a CPU, and a sample waits for its
// thread's next observation ([Thread.MayWait]). So the time of an observation depends neither on the place of the sleep
// nor on a recent run: the division of blocked time is that of a lower rate, right on average. Without kernel samples
// an observation also shows where a thread runs, and none is omitted.
package backoff
