// SPDX-License-Identifier: Apache-2.0

// Package attribute divides the time of threads among the stacks in which they were sampled: events in, intervals out.
// It reads no file and no clock and starts no goroutine. What it asks the kernel ([Relatives]) is input as well. So a
// recorded stream of events gives the same intervals again (package replay).
//
// # Algorithm
//
// The kernel says of each thread how long it was on a processor (cpu) and how long it was queued for one (runqueue,
// both in /proc/PID/task/TID/schedstat, CONFIG_SCHED_INFO). The rest of wall time it was blocked. Between two samples
// of a thread
//
//	blocked = Δwall − Δcpu − Δrunqueue
//
// and a [Clock] gives each part to one stack: cpu to the stack at the end if the thread is on a processor there,
// runqueue to the one that was queued, blocked to the one that slept. What no stack may have is carried to the next
// sample, or is shown under a synthetic frame. So for each thread
//
//	Σ cpu of intervals = cpu at the last sample − cpu at the first
//
// A [Process] has what belongs to no sample of a living thread:
//
//	unseen = growth of the process's clock − Σ cpu of its threads
//
// which is shared out among the samples of threads that ended ([Process.Exited]), in proportion to what these claim: a
// sample stands for the time T between two ticks, and one that ended an interval of x < T claims T − x. A [Family] has
// the processes that are not sampled themselves:
//
//	CPU time of unobserved children = growth of cutime + cstime − CPU time of the observed children
//
// which is shared out likewise. [Gaps] are the times in which no thread was sampled: they are shown as not observed.
package attribute
