// Package bench measures what being sampled costs a program, against the number of
// its threads, on this very machine.
//
// # Method
//
// The target is prywalk's own binary in a workload mode: some threads compute all
// the time and count what they did, the others sleep in a read that never returns.
// A pair is one window without and one with sampling, in random order; its ratio is
// the work done with, divided by the work done without. Neighbouring windows see
// the same mood of the machine, so that the ratio holds where a single figure does
// not. A row gives the median of its pairs' ratios, and the 95 % interval of that
// median by the bootstrap (10,000 resamples of the pairs).
//
// Counts beside the ratio do not depend on the machine's mood: stops, and system
// calls for each tick.
package bench
