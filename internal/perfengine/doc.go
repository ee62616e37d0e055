// SPDX-License-Identifier: Apache-2.0

// Package perfengine observes running threads by perf events: the kernel samples them, and none is stopped.
//
// # Algorithm
//
// Samples are taken from package perfevents at each tick; each waits until its thread's clocks are read, and is placed
// between this reading and the one before ([sample.Reading.Between]):
//
//	clocks read     sample  sample     clocks read
//	     |─────────────*───────*────────────|        time of the thread
//
// A sample of a thread that ended before that is a claim on the unobserved time of its process
// ([attribute.Process.Claim]).
//
// # Parts
//
//	Engine        from the kernel's buffers to the outbox
//	choice        which processes are sampled; others are stopped
//	ownSamples    as an ordinary user: thread by thread, in user space
//	children      samples of child processes that are not attached
//	childClocks   as an ordinary user: the CPU time of such processes
package perfengine
