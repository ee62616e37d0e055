// SPDX-License-Identifier: Apache-2.0

// Package perfevents has the kernel sample what runs. A sample has registers, the top of the user's stack and the
// kernel's frames, at a fixed rate on each processor, without stopping anybody (perf_event_open(2), a software
// clock).
//
// An event for each *processor* knows no threads. So a thread is sampled from its first instruction on, however
// shortly it lives, and shares have no bias by age. (An inherited event of a thread begins with a whole period: what
// lives shorter is never sampled.) It takes CAP_PERFMON, or kernel.perf_event_paranoid 0 or less: other programs'
// samples come too, and are dropped at once by whoever reads.
//
// # What is read
//
// [Reader.Drain] reads the rings of all processors. A [Record] points into a ring and holds until the function
// returns that it was given to. Nothing is allocated. Rings are written by the kernel alone. All the same a record
// that makes no sense ends a ring's reading and is counted ([Reader.Broken]), and nothing of it is believed.
//
// Switches between threads are not asked for. The kernel's own clocks of each thread (schedstat) have the times on
// and off a processor, for nothing. There a record of each switch would cost programs that switch a lot.
package perfevents
