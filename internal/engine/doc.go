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
// While [observe.Thread.SetSampled] has the bytes of stack that its samples have, a thread is not stopped. For a sample
// of a tracked thread the engine adds an event to Out, and counts it in Sampled and Tick.Copies. In Runs it passes the
// thread's clocks to Steady.Runs and Backoff.Observed. A sample that no tracked thread has counts as Unassigned; it
// shows that a thread has begun, so Skipper.Changed is called, and the next tick is not skipped.
package engine
