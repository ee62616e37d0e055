// SPDX-License-Identifier: Apache-2.0

// Package load has the programs whose throughput benchmarks/overhead measures beside the one of prywalk bench:
// Go code that is run in processes of its own, servers, and sources in C, Python and Java.
//
// Each has threads that work and threads that sleep all the time, counts pieces of work, and where it
// waits for something, how long that took. It prints a line when it has begun, answers each line on its
// standard input with a [load.Report], and ends when its standard input does.
package load
