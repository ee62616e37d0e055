// SPDX-License-Identifier: Apache-2.0

// Package perfmap names run-time code by perf maps: tables of functions that JIT compilers write, usually
// /tmp/perf-PID.map. It is asked after the runtimes.
//
//	START SIZE NAME        a line per function, hexadecimal
//
// Source: tools/perf/Documentation/jit-interface.txt of the kernel.
package perfmap
