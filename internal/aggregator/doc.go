// SPDX-License-Identifier: Apache-2.0

// Package aggregator unwinds raw samples, and attributes the threads' clocks to stacks.
//
//	BatchQueue ──► event ─┬─ raw sample ──► unwind.go: frames, managed frames
//	                      ├─ asleep ──────► waits.go: what it waits for
//	                      └─ clocks ──────► package attribute: intervals ──► sinks.go ──► profile.Builder, sinks
//
// It runs on one goroutine and takes the tracer's events (package handover) in order.
package aggregator
