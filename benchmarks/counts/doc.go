// SPDX-License-Identifier: Apache-2.0

// Package counts holds the countable cost of observations: stops, system calls, bytes copied from the target and
// allocations, for each observation and each tick of small fixed targets. Unlike times, they are the same on any
// machine under any load, so that a test can fail when one has risen.
//
// System calls that only pass time ([procmem.Waits]) are left out, as their number depends on the load. A birth of any
// process on the machine makes a tick search for new threads; so that others make no difference, a program has children
// in each tick.
//
// # When a count has risen
//
// testdata/baseline_GOARCH.json has twelve values of each count, measured one after the other. A new one is measured
// until it is not above the limit, at most twelve times; if all twelve are above it, the count has risen. The limit
// is the largest value of the baseline plus the distance between its largest and its smallest. Without that addition,
// and if nothing has changed, all twelve new values would be above all twelve old ones with a probability of
// 12!·12!/24! = 4·10⁻⁷, whatever the distribution is; the addition is for other loads than that of the day of the
// baseline. For a count that is always the same it is 0: one call more fails.
//
// A change that is meant to cost more, or that costs less, writes a new baseline. Others should use the machine half of
// the time meanwhile:
//
//	go -C benchmarks test ./counts -run Risen -update
//
// For arm64 the emulated machine measures (package integration/arm64), and only single observations: how many
// ticks a second it makes is another matter on each machine that emulates it.
package counts
