// SPDX-License-Identifier: Apache-2.0

// Package pace decides when a tick is made, which threads it observes, and on which CPU. It belongs to the
// tracer's goroutine, and allocates nothing in the steady state.
//
//	ticks.go          times of ticks, at random distances about the period; which of the due threads a tick observes
//	overheadbudget.go rate, ticks withheld, and threads of a tick for --max-overhead
//	quota.go          ticks withheld for prywalk's own CPU quota
//	gaps.go           time in which nothing was observed
//	backoff.go        which sleeping threads are not observed at a tick (for how long: backofflength.go)
//	cpuchooser.go     the CPU on which the tracer sleeps
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
package pace
