// SPDX-License-Identifier: Apache-2.0

// Package attribute divides the time of threads among the stacks of their samples: events in, intervals out. Answers of
// the kernel ([ProcSource]) are input too, so that a recorded stream gives the same intervals again (replay_test.go).
// The stream begins after the walk: wrong stacks are examined in a core file.
//
// # Algorithm
//
// The kernel counts each thread's time on a CPU (cpu) and queued for one (runqueue): /proc/PID/task/TID/schedstat
// (CONFIG_SCHED_INFO). Between two samples of a thread
//
//	wall    ├──────────────────────── Δwall ─────────────────────────┤
//	        │ blocked = Δwall − Δcpu − Δrunqueue │ runqueue │  cpu   │
//	goes to   the stack that slept                 queued     on CPU at the end
//
// A [Ledger] gives each part to one stack. Time that fits none is carried to a later sample, or goes to a synthetic
// frame. An account begins with the thread's listing, creation or first sample:
//
//	cpu of a sample on a CPU = growth of cpu in the interval that it ends + carried cpu
//	Σ cpu of intervals       = cpu at the account's end − cpu at its start
//
// An example (TestIntervalsAreAsTheExampleSays), in ms, at 100 ticks a second:
//
//	at  observed    cpu  runqueue  growth: cpu, runqueue, blocked; goes to
//	 0  in parse    100  5         the account begins
//	10  in parse    107  6         7, 1, 2      parse: cpu 7, runqueue 1; blocked 2 is carried
//	20  asleep      110  6         3, 0, 7      the wait: blocked 2 + 7; cpu 3 is carried
//	30  unchanged   110  6         0, 0, 10     the wait: 19 so far, no new sample
//	40  in write    114  6.5       4, 0.5, 5.5  the wait ends with 24.5; write: cpu 4 + 3, runqueue 0.5
//
// A thread that prywalk displaced from its CPU at a tick counts as on a CPU. Before Linux 6.15 without
// CONFIG_SCHED_DEBUG (no /proc/PID/task/TID/sched) that thread is not known: its cpu goes to its next sample on a CPU.
//
// Times and weights below are CPU time. A sample stands for a time T ([Sample.StandsFor]): that between two ticks, or
// the period of a kernel sample.
//
// # Kernel samples
//
// Kernel samples of a running thread ([Ledger.AddKernelSample], [Ledger.emitPending]) wait until it sleeps, as its
// clocks are exact only then, within the bounds in pendingsamples.go; those of a young thread do not wait. The waiting
// ones share their CPU time:
//
//	cpu of a sample = Σ cpu of the waiting samples × T / Σ T
//
// # Time in the kernel
//
// Where the kernel samples user space only, the CPU time that a thread spent in the kernel is known, not seen
// ([Sample.KernelTime]). It is withheld from the samples of user space, and held until a stop at the end of a system
// call takes it ([kernelTime]):
//
//	Σ cpu of samples of user space + Σ cpu of stops in system calls + cpu held = cpu of the thread
//
// # Unobserved time
//
// Unobserved time ([processAccount.unobserved]) is that of ended threads after their last samples, or, without samples,
// after the start:
//
//	unobserved = CPU time of ended threads − Σ their cpu at their last samples − what was distributed before
//
// Samples share it by weight ([weightedSamples.distribute]); the excess goes to a synthetic frame:
//
//	part of a sample = min(time, Σ weights) × its weight / Σ weights
//
// Sampling error ([weightedSamples.samplingError]): in the last distribution, two standard errors are added to the
// weights, equally among the n samples:
//
//	weight = weight before + (2 × Σ weights / √n) / n
//
// Young threads ([threadAccount.attributeYoung]): a short-lived thread's sample has only x, the CPU time since the
// sample before. If ticks do not depend on when threads begin, the time that a place misses after last samples equals,
// on average, that of threads without a sample (TestSharesOfShortLivesAreTrue). If x > T (after a wait), x − T is
// unobserved, too:
//
//	weight = max(T − x, 0)
//
// Skids ([endedThreadTime.takeSkidWeights]): a sample of a thread with many system calls shows its place only if taken
// on its own CPU (skid.go of package observe). One that skids has x = 0, and gives its weight to the others:
//
//	weight = max(T − x, 0) + Σ weights of samples that skid / number of the others
//
// Unobserved children ([cutimeNode.unobserved]): a wait adds the time of the child and its children to the parent's
// cutime and cstime. Without a wait (a zombie, an orphan, ignored SIGCHLD) nothing is added:
//
//	unobserved = growth of cutime + cstime − CPU time of the observed children and theirs − what was distributed before
//
// Samples of such children ([processAccount.addUnassignedOfChild]) share it:
//
//	weight = T
//
// Time of programs ([childTime.distributeKnown]): what the samples leave of an observed child's passed-on time goes to
// its program.
//
// Gaps ([Ledger.MarkNotObserved]) are times without any sample. For cpu and for runqueue of a thread that ran within
// one:
//
//	not observed = Δ × length of the gap / Δwall
//
// # Sources
//
// proc_pid_stat(5), fields 16 and 17; kernel/sched/stats.h (schedstat); kernel/exit.c, wait_task_zombie (cutime,
// cstime).
package attribute
