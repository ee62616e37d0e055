// SPDX-License-Identifier: Apache-2.0

// Package bench measures the throughput that sampling costs a program, against the number of its threads.
//
// # Method
//
// The target is prywalk's binary as a workload (package load), the tool prywalk record or a peer (package tools).
// After warm-up the tool is switched on and off on one target. A pair is a window without and one with sampling,
// in random order; its ratio is work per second with, divided by without. Neighbouring windows share the machine's
// load. A row has the median ratio of its pairs with its 95 % bootstrap interval (10,000 resamples).
//
// Counts (stops, system calls per tick) and the tool's CPU time are of the windows with sampling, without its
// start.
package bench
