// SPDX-License-Identifier: Apache-2.0

// Package backoff decides which sleeping threads are not observed at a tick. It belongs to the tracer's goroutine, and
// allocates nothing in the steady state.
//
// # Back-off
//
// An observation of a sleeping thread costs one read of a /proc file. Threads found unchanged for long are observed
// less often ([backoffLength]), at random, so that threads that fell asleep together are not due together. A thread
// found changed is observed at every tick again.
//
// An unchanged run count proves that the stack was the same at all ticks since the last observation. A changed one ends
// a longer interval than usual, in which the first stack of a burst is not observed. So back-offs stay short until
// there have been no such bursts ([backoffFactor]). With kernel samples, which show the bursts, many threads get the
// longest back-offs.
//
// # The process's clock
//
// While the clock stands still, no thread has left a CPU: threads that fall due stay backed off, up to about
// prolongedUpTo after their observation. If it has moved by more than the observed threads explain, a backed-off
// thread has run: those that ran before are observed, then, if these do not explain it, all others. The kernel updates
// a running thread's time at scheduler ticks only (kernel/sched/cputime.c, thread_group_cputime).
//
// # Sleepers that wake often
//
// With kernel samples, an observation shows only where such a thread sleeps. Among many threads, observations are then
// thinned out at random ([Policy.frequentWakerBackoff]), and a sample waits for its thread's next observation
// ([ThreadState.SampleWaits]): its time depends neither on the place of the sleep nor on a recent run, so the division
// of blocked time is right on average.
package backoff
