// SPDX-License-Identifier: Apache-2.0

// Package aggregator unwinds raw samples, and attributes the threads' clocks to stacks.
//
//	BatchQueue ──► event ─┬─ raw sample ──► unwind.go: frames, managed frames
//	                      ├─ asleep ──────► waits.go: what it waits for
//	                      └─ clocks ──────► package attribute: intervals ──► sinks.go ──► profile.Builder, sinks
//
// It runs on one goroutine and takes the tracer's events (package target) in order.
//
// # Files
//
//	states.go       the parts of processes and threads; mappings that are read again
//	unwind.go       walks. locations.go and managed.go number their frames
//	incompletewalks.go
//	                what kernel samples lack; with what the next process of a program begins
//	waits.go        what a thread waits for, and who holds it
//	tasks.go        waiting goroutines and asyncio tasks, in slices between batches (taskpoller.go, tasksources.go)
//	sinks.go        intervals for the Builder and the sinks; stacks that may be evicted
//	aggregator.go   events in; if a read of a target hangs, another goroutine takes the recording over
package aggregator
