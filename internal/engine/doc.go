// SPDX-License-Identifier: Apache-2.0

// Package engine is the contract between the tracer and an engine that observes running threads in place of stops.
//
// The tracer (package tracer) tracks processes and threads, reads their clocks and observes those that sleep. An engine
// ([RunningObserver]) is called at each tick, and its objects for a process ([ProcessObserver]) and a thread
// ([ThreadObserver]) around each observation. It adds its observations to the same outbox ([SharedState]), and calls
// the tracer as [Host].
package engine
