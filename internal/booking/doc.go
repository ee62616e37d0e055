// SPDX-License-Identifier: Apache-2.0

// Package booking divides the kernel's three clocks among the stacks that looks have seen. It is arithmetic alone:
// it reads nothing and knows no file, and it belongs to the accountant's goroutine.
//
// The kernel says of each thread how long it was on a processor and how long it was queued for one
// (/proc/PID/task/TID/schedstat, CONFIG_SCHED_INFO). What is left of wall time, it was blocked. The time between
// two looks at a thread is booked by its [Clock] as one or more [Span], so that every thread's total is the
// kernel's. What no look observed is shown under a name of its own.
//
// A [Thread] is the account of one thread: its clock, and the first looks, which wait. A [Process] is that of a
// process: what its threads used, and what those used whom no look has seen. [Gaps] are the times in which nobody
// looked.
package booking
