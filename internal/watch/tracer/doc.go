// SPDX-License-Identifier: Apache-2.0

// Package tracer observes the threads of the targets at each tick, and reports events (package target).
//
// # Algorithm
//
// A loop makes ticks and sleeps between them. The file tick.go has the loop, and the steps of a tick in their order.
//
//	makeTicks ─► tick ─► selector ────► observations ──► stops ─────► package observe, ptrace
//	                     which threads   one thread       pending      one thread: unchanged,
//	                                     after another    stops        passive read or stop
//	                ├──► newThreads
//	                ├──► listings: threads that have begun or ended
//	                ├──► target.Engine, in place of stops: the kernel's samples (package perfengine)
//	                └──► backlog ──► target.Outbox ──► aggregator
//
// # Parts
//
// A part is a type with a file of its own, which alone uses its fields: other parts call its methods. A part has
// pointers only to parts above it.
//
//	pace          when ticks are made, how many threads they observe: ticks.go has the rate and the subset,
//	              overheadbudget.go --max-overhead, quota.go prywalk's own CPU quota
//	gaps          time in which nothing was observed
//	counts        outcomes of observations, lengths of stops
//	taskCreations whether a task was created on this machine since the last tick
//	results       what observations have found, at once or by a stop: samples, failures and ends of threads
//	stops         begins observations, finishes pending stops in every wait; cpuchooser.go chooses the CPU on which the
//	              tracer sleeps
//	backlog       hands events over, and bounds the copies that wait for their walks
//	endedThreads  CPU time of ended threads, from the clocks of process and threads
//	tracked       processes and threads, from their discovery on
//	execs         processes that have called exec: execs.follow is the tracer's side
//	listings      lists of a process's threads: what has begun and ended since the last one
//	requests      checkpoints and refreshes, which the aggregator makes
//	observations  one observation of one thread
//	newThreads    threads that were created since the last tick
//	selector      the threads of a tick
//
// All share [target.SamplingOptions], which nothing changes, and [target.SharedState]. Only tick.go sets its tick; its
// Copies are counted by [target.SharedState.AddSample].
//
// # What a tick leaves out
//
// In this order, with what counts it in [runstats.Stats]:
//
//	ticks.next          ticks whose whole period has passed                      MissedTicks
//	pacer.withinQuota   ticks beyond prywalk's CPU quota                         TicksWithheldByQuota
//	pacer.withinBudget  ticks beyond what targets may lose                       TicksWithheld
//	backlog.isFull      ticks while walks are far behind, or garbage is due      MissedTicks
//	target.Backoffs     sleepers, until the end of their back-off                Inferred, RanInBackoff
//	pacer.draw          due threads, at random, by subset or budget              NotDrawn
//	observations        threads with a pending stop, without quota, room or a
//	                    CPU, or amid an exec                                     LeftToLaterTick
//	results             threads whose stop or read was refused                   Failed, by reason
//
// The next sample on a CPU takes the CPU time of these. It has no function if a changed sample off the CPU comes first,
// more than 5 s later (carryLimit of package attribute), or if missed ticks leave a gap (gaps.go).
// Other time gets a synthetic frame (constants of package attribute), which sums in [runstats.CPU]:
//
//	[ran between ticks]     ran only between two samples off the CPU               UnobservedCPU
//	[not observed]          a gap, or a refused stop                               UnobservedCPU
//	[exited unseen]         ended threads, beyond their samples                    UnobservedCPU, ExitedUnseenCPU
//	[short-lived children]  children that ended before they were tracked           UnobservedCPU, ShortLivedCPU
//	[kernel]                known by the clocks, without a sample in the kernel    KernelCPU
//
// # Invariants
//
// The tracer runs on an OS thread of its own with a raised priority. It allocates nothing in a steady state, and
// finishes stops in every wait ([stops]). At real-time priority it looks up no path of /proc ([tracked.discover]); at
// ordinary priority only threads on other CPUs are stopped ([observations.observeLeft]).
package tracer
