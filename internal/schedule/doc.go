// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when to observe. It belongs to the tracer's goroutine.
//
//	ticks.go          times of ticks, at random distances about the period
//	overheadbudget.go rate, ticks withheld, and threads of a tick (admission.go) for --max-overhead
//	quota.go          ticks withheld for prywalk's own CPU quota
//	subset.go         which of the due threads a tick observes, for the budget and --subset
//	gaps.go           time in which nothing was observed
package schedule
