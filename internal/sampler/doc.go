// SPDX-License-Identifier: Apache-2.0

// Package sampler makes one recording of some processes: of all looks at all their threads, and of the time in between.
//
// Three goroutines share the work, and [Sampler.Run] starts them.
//
//   - The tracer (package tracer) looks at threads at each tick, and copies what it must.
//   - The accountant (package accountant) unwinds the copies, and divides the threads' clocks among the stacks.
//   - The scout (scout.go), if children are followed, watches for new processes.
//
// Messages go one way, from the tracer to the accountant (package handover). A fourth looks whether one of them hangs
// (watchdog.go).
package sampler
