// SPDX-License-Identifier: Apache-2.0

// Package load has the programs whose throughput prywalk bench measures: Go code that is run in processes
// of its own, so that a user needs no compiler.
//
// Each has threads that work and threads that sleep all the time, counts pieces of work, and where it
// waits for something, how long that took. It prints a line when it has begun, answers each line on its
// standard input with a [Report], and ends when its standard input does.
package load
