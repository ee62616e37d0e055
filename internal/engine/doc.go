// SPDX-License-Identifier: Apache-2.0

// Package engine is the contract between the tracer and an engine that observes running threads in place of stops.
//
// The tracer (package tracer) tracks processes and threads, reads their clocks and observes those that sleep. An engine
// ([RunningObserver]) is called at each tick, and its objects for a process ([ProcessObserver]) and a thread
// ([ThreadObserver]) around each observation. It adds its observations to the same outbox ([SharedState]), and calls
// the tracer as [Host].
//
// # Calls of a tick
//
//	SetRate                              before each tick
//	BeginTick                            once; after a withheld one only DrainIfDue follows
//	TakeAll                              after the new threads of processes that are stopped
//	for each thread that is observed:
//	    BeforeObservation
//	    ClocksRead                       it is unchanged; with a raw sample AfterObservation follows
//	    or Runs                          it runs, and is not stopped
//	EndTick
//
// # Duties of an engine
//
// A thread is stopped while it runs unless the engine has called [Thread.ExemptFromStops]. Samples of a tracked thread
// go to [SharedState.AddEngineSample], others to [SharedState.AddUnassignedSample]; these show that a thread has begun,
// so Skipper.Changed is called, and the next tick is not skipped. In Runs the engine passes the thread's clocks to
// Steady.Runs and Backoff.Observed.
package engine
