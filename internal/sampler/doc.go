// SPDX-License-Identifier: Apache-2.0

// Package sampler makes one recording of some processes: samples of all their threads, and the time in between.
//
// # Algorithm
//
//	discovery ──(found)──► aggregator: opens the process ──► tracer: samples its threads
//	tracer ──(events, package handover)──► aggregator: walks stacks, attributes time ──► profile.Builder
//
// [Sampler.Run] starts three goroutines:
//
//   - The tracer (package tracer) samples threads at each tick, and copies what the walks need.
//   - The aggregator (package aggregator) walks the copies, and attributes the threads' clocks to stacks.
//   - The discovery (discovery.go) searches for new processes, children or those that a rule selects.
//
// The goroutine that called Run waits for them, and detects hangs meanwhile (watchdog.go).
//
// # Invariants
//
// After Run, also after a failure, the Builder has all samples, unless [ErrBuilderInUse]. No target is left stopped or
// traced, unless [ErrHung].
package sampler
