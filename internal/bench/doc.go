// SPDX-License-Identifier: Apache-2.0

// Package bench measures what being sampled costs a program, against the number of
// its threads, on this very machine.
//
// # Method
//
// The target is prywalk's own binary in a workload mode (package load), the tool is prywalk record as a user runs it,
// or one of its peers (package tools). Each tool is given time to settle, and then switched on and off on one target.
// A pair is one window without and one with sampling, in random order. Its ratio is the work done in a second with,
// divided by the work done in a second without. Neighbouring windows see the same mood of the machine, so that the
// ratio holds where a single figure does not. A row gives the median of its pairs' ratios, and the 95 % interval of
// that median by the bootstrap (10,000 resamples of the pairs).
//
// Counts beside the ratio do not depend on the machine's mood: stops, and system
// calls for each tick. They and the tool's own processor time are of the windows with
// sampling alone, without its start-up and without the moment after it is switched on.
package bench
