// SPDX-License-Identifier: Apache-2.0

// Package load has the program whose throughput prywalk bench measures: Go code that is run in a process
// of its own, so that a user needs no compiler.
//
// It has threads that work and threads that sleep all the time, and counts pieces of work. It prints a line when it
// has begun, answers each line on its standard input with a [Report], and ends when its standard input does. The
// further loads of benchmarks/overhead do the same.
package load
