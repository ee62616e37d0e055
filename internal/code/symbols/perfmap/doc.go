// SPDX-License-Identifier: Apache-2.0

// Package perfmap names run-time code by perf maps: tables of functions that JIT compilers write, usually
// /tmp/perf-PID.map. Each line is START SIZE NAME, hexadecimal.
//
// Source: tools/perf/Documentation/jit-interface.txt of the kernel.
package perfmap
