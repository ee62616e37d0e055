// SPDX-License-Identifier: Apache-2.0

// Package load has the programs whose throughput benchmarks/overhead measures besides the workload busy: Go code in
// processes of its own, servers, and sources in C, Python and Java.
//
// Each has working and sleeping threads, counts pieces of work and lengths of waits, prints a line when it has started,
// answers each line of standard input with a [load.Report], and ends with its standard input.
package load
