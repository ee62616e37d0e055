// SPDX-License-Identifier: Apache-2.0

// Package engine is the contract between the tracer and an engine that observes running threads in place of stops.
//
// The tracer (package tracer) follows processes and threads, reads their clocks and observes those that sleep. An
// engine ([Running]) is called around that, keeps an object of its own for each of them, and adds its observations to
// the same outbox ([Run]). What it needs of the tracer is [Host].
package engine
