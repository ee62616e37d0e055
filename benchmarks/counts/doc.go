// SPDX-License-Identifier: Apache-2.0

// Package counts tests the countable cost of observations: stops, system calls, bytes copied from the target and
// allocations, per observation and per tick of small fixed targets. Unlike times they are the same on any machine
// under any load, so that a test can fail when one has risen.
//
// System calls that only pass time ([procmem.Waits]) are left out, as their number depends on the load. The birth
// of any process on the machine makes a tick search for new threads; so that other processes make no difference, a
// program has children in each tick.
//
// # When a count has risen
//
// testdata/baseline_GOARCH.json has twelve values of each count. A new one is measured until it is not above the
// limit, at most twelve times; if all are above, the count has risen. The limit is the largest value of the
// baseline plus the distance between its largest and its smallest. Without that addition all twelve new values
// would be above all twelve old ones by chance with a probability of 12!·12!/24! = 4·10⁻⁷, whatever the
// distribution; the addition is for other loads than the baseline's. For a constant count it is 0: one call more
// fails.
//
// A change of the cost on purpose writes a new baseline, with half of the machine in use by others meanwhile:
//
//	go -C benchmarks test ./counts -run Risen -update
//
// For arm64 the emulated machine measures (package integration/arm64), and only single observations: the number of
// ticks per second depends on the machine that emulates.
package counts
