// SPDX-License-Identifier: Apache-2.0

// Package pace decides when a tick is made, how many threads it observes, and on which CPU the tracer sleeps. It
// belongs to the tracer's goroutine, and allocates nothing in the steady state.
//
//	ticks.go          times of ticks, at random distances about the period; which of the due threads a tick observes
//	overheadbudget.go rate, ticks withheld, and threads of a tick for --max-overhead
//	quota.go          ticks withheld for prywalk's own CPU quota
//	gaps.go           time in which nothing was observed
//	cpuchooser.go     the CPU on which the tracer sleeps
package pace
