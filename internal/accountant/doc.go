// SPDX-License-Identifier: Apache-2.0

// Package accountant unwinds what the tracer copied, and divides the threads' clocks among the stacks.
//
// It runs on one goroutine, and takes the tracer's events (package handover) in their order. A shot is walked
// (unwind.go), a sleeper's wait is explained (waits.go), and the time since the last look is attributed to the stacks
// (package attribute).
// All that it books goes to the recording in one place (recording.go).
package accountant
