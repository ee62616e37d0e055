// SPDX-License-Identifier: Apache-2.0

// Package idle decides which sleepers are left alone at a tick. It is a policy: it says whom to look at, and proves
// nothing. It belongs to the tracer's goroutine and allocates nothing in a steady state.
//
// # Backing off
//
// A look at a thread that sleeps costs the thread nothing, but prywalk a read of a file under /proc. Where there
// are many, those that were found unchanged for long are looked at less often. All of them together take no more
// than one part in lookShare of the time. But each is looked at every longestBackoff at least, on average, and
// never after less than one part in sleepShare of the time that it has been asleep for. Each backoff is stretched
// or shortened at random, so that threads that fell asleep together do not fall due together. A thread that is
// found changed is looked at in every tick again.
//
// The threads' clocks are cumulative, and so is the count of arrivals on a processor: looking later loses none of
// their time. An unchanged count proves for all ticks since the last look that the stack was the same at them, and
// they are counted. A changed one ends an interval that is longer than usual. Its processor time is all there, and
// goes where that of any interval goes. What is lost is which stack ran in the first part of a burst that follows a
// long sleep. So backoffs are short until it has shown that there are no such bursts ([stretch]). Threads that run
// again and again, as a collector's do, are judged apart from those that have not run since they were met.
//
// Where the kernel samples threads that run, bursts are seen in any case. There a crowd is left alone for as long as
// backoffs can be, and who has not run yet for as long as it was seen to sleep ([Thread.patience]).
//
// # The process's clock
//
// It helps twice. Does it stand still, then nobody has left a processor, and who falls due is left asleep, but not
// beyond idleMost. Has it moved by more than the looks at the others explain, then one of those that are backed off
// has run. Those that have run before are looked at then, and if that does not explain it, all others. It is done as
// often as it takes no more than one part in wakeAllShare of the time.
//
// The clock only says whom to look at. It proves nothing: the kernel books the time of a thread that runs at its
// own ticks (kernel/sched/cputime.c, thread_group_cputime, reads the threads' sums as they are). A thread that
// arrived on a processor a moment ago has not moved it yet. What is counted is proved by the thread's own count.
//
// # Sleepers that wake often
//
// They are found changed at most looks. Where the kernel samples who runs, those looks tell one thing only: where the
// thread sleeps. In a crowd they are thinned out, at random, so that all of them take no more than one part in
// restlessShare of a processor. A sample waits for its thread's next look ([Thread.MayWait]). So when a look comes
// depends neither on where the thread sleeps, nor on whether it has just run. Blocked time is divided as at a lower
// rate: right on average. Its sum is the kernel's. Where nobody samples, such a look tells where a thread runs, too,
// and none is left out.
package idle
