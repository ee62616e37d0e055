// SPDX-License-Identifier: Apache-2.0

// Package perfengine observes running threads by perf events: the kernel samples them, and none is stopped.
//
// # Algorithm
//
// Each tick takes the samples from package perfevents. A sample waits until its thread's clocks are read, and is placed
// between this reading and the one before ([sample.Reading.Between]):
//
//	clocks read     sample  sample     clocks read
//	     |─────────────*───────*────────────|        time of the thread
//
// If the thread ends before, the sample shares the unobserved time of its process
// ([attribute.UnassignedSample]).
//
// # Parts
//
//	Engine             passes the tracer's calls to the parts
//	stream             the kernel's samples, their pauses and their end
//	processes          the tracked processes
//	unassignedSamples  samples of untracked threads
//	scope              which threads the kernel samples: systemWide, or perThread for an ordinary user, whose
//	                   launched commands inherit the samples ([Source.BeforeLaunch])
//	childSamples       samples of untracked child processes
//	samples            samples of tracked threads, until their clocks are read
//	modeChooser        which processes are sampled; others are stopped
package perfengine
