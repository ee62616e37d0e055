// SPDX-License-Identifier: Apache-2.0

// Package engine is the contract between the tracer and an engine that observes running threads in place of stops.
//
// Package tracer tracks processes and threads, reads their clocks and observes those that sleep. An engine ([Engine])
// is called at each tick, and its parts of a process ([target.ProcessPart]) and of a thread ([target.ThreadPart])
// around each observation. It adds its observations to the same outbox ([SharedState]), and calls the tracer as [Host].
//
// # Calls of a tick
//
//	SetRate                              before each tick
//	BeginTick                            once, not of a missed tick; after a withheld one only DrainIfDue follows
//	DrainAll                             after the new threads of processes that are stopped
//	for each thread that is observed:
//	    BeforeObservation
//	    ClocksRead                       if unchanged or observed; then AfterObservation, if observed
//	    or FoundRunning                  if running and not stopped
//	EndTick
//
// A pending stop ends in any wait of the tracer: ClocksRead and AfterObservation, or Ended, then come outside of this
// order. So may TrackThread and Ended in a withheld tick.
//
// # Duties of an engine
//
// A running thread is stopped unless the engine has called [target.Thread.ExemptFromStops]. Samples of a tracked thread
// go to [SharedState.AddEngineSample], others to [SharedState.AddUnassignedSample]. FoundRunning passes the thread's
// clocks to Backoff.NoteObservation. At and Sched of a tracked thread's samples are placed between two readings of its
// clocks ([sample.Reading.Between]), in order of time, none before [Host].GapEnd. A run has one engine.
//
// # To add an engine
//
// Read the source of samples in a package of its own (as perfevents); make raw samples of it (sampled.go of package
// observe); implement [Engine] (as perfengine); choose it for a process, and leave it where too many stacks are
// incomplete (modechooser.go of perfengine). It also has
//
//   - a name in Observed.Engine of package runstats, and in its texts, which ignore others
//   - a value of observe.How: the aggregator asks for ByKernelSample, and so does FromKernel of package attribute
//   - a value of --engine (engine.go of the command), and rows in the test of layers
//
// [target.SampleLack] is of the kernel's samples.
package engine
