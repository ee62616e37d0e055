// SPDX-License-Identifier: Apache-2.0

// Package perfmap names code made at run time by perf maps: tables of functions that compilers write for profilers,
// mostly /tmp/perf-PID.map. They name code that no run-time system of the other folders has named.
//
//	START SIZE name        one function a line, hexadecimal
//
// Source: tools/perf/Documentation/jit-interface.txt of the kernel.
package perfmap
