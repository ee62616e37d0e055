// SPDX-License-Identifier: Apache-2.0

// Package backoff decides which sleeping threads are not observed at a tick. It selects threads, and proves nothing.
// For the tracer's goroutine; it allocates nothing in the steady state.
//
// # Back-off
//
// To observe a sleeping thread costs the thread nothing, and prywalk one read below /proc. Where there are many,
// threads found unchanged for long are observed less often, so that all together take at most one part in sampleShare
// of the time. Limits: each is observed every longestBackoff on average, and not before one part in sleepShare of its
// sleep so far has passed again. Back-offs vary at random, so that threads that fell asleep together are not due
// together. A thread found changed is observed at every tick again.
//
// Thread clocks and the count of arrivals on a processor are cumulative: a later observation loses no time. An
// unchanged count proves that the stack was the same at all ticks since the last observation, and they are counted. A
// changed one ends a longer interval than usual: the first stack of a burst after a long sleep is not observed. So
// back-offs stay short until there have been no such bursts ([stretch]). Threads that run repeatedly have statistics
// apart from those that have not run since they were first observed.
//
// Where the kernel samples running threads, samples show the bursts. There many threads get the longest back-offs, and
// a thread that has not run yet gets one as long as its observed sleep ([Thread.limits]).
//
// # The process's clock
//
// While it stands still, no thread has left a processor: threads that fall due stay backed off, for idleMost at most.
// If it has moved by more than the observed threads explain, a backed-off thread has run. Then those that ran before
// are observed, and if that does not explain it, all others, as far as that takes at most one part in searchShare of
// the time.
//
// The clock proves nothing: the kernel updates a running thread's time at scheduler ticks (kernel/sched/cputime.c,
// thread_group_cputime). The thread's own count is the proof.
//
// # Sleepers that wake often
//
// They are found changed at most observations. Where the kernel samples running threads, an observation shows only
// where the thread sleeps. With many threads, observations are then thinned out at random, to one part in restlessShare
// of a processor, and a sample waits for its thread's next observation ([Thread.MayWait]). So the time of an
// observation depends neither on the place of the sleep nor on a recent run: blocked time is divided as at a lower
// rate, right on average, and its sum is the kernel's. Without kernel samples such an observation also shows where a
// thread runs, and none is omitted.
package backoff
