// SPDX-License-Identifier: Apache-2.0

// Package counts tests the countable cost of observations (stops, system calls, bytes copied from the target,
// allocations) of small fixed targets. Unlike times it is the same on any machine.
//
// System calls that only pass time ([procmem.Waits]) are left out. The birth of any process on the machine makes a tick
// search for new threads; so that others make no difference, a program has children in each tick.
//
// testdata/baseline_GOARCH.json has twelve values of each count. A count has risen if twelve new ones are above the
// limit: the baseline's largest value plus the distance to its smallest. Without that addition the probability of a
// rise by chance is 12!·12!/24! = 4·10⁻⁷. A change of the cost on purpose writes a new baseline, with half of the
// machine in use by others:
//
//	go -C benchmarks test ./counts -run Risen -update
//
// For arm64 the emulated machine measures (package integration/arm64), and only single observations.
package counts
