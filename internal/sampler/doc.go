// Package sampler decides when to look at which thread, and accounts for all the
// time in between.
//
// # Algorithm
//
// Three goroutines share the work. The controller, on an OS thread of its own with
// a raised priority, looks at every thread at each tick (package look), copies
// what it must and hands the copies over; it allocates nothing in a steady state
// and never waits for anything but the target. The accountant unwinds the copies
// and divides the threads' clocks among the stacks. The scout, if children are
// followed, watches for new processes.
//
// # The three clocks
//
// The kernel says of each thread how long it was on a processor and how long it
// was queued for one (/proc/PID/task/TID/schedstat, CONFIG_SCHED_INFO); what is
// left of wall time, it was blocked. The interval between two looks is booked as
// the type threadClock says, so that every thread's total is the kernel's, and
// what no look observed is shown under a name of its own.
package sampler
