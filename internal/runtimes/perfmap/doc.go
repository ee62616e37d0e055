// SPDX-License-Identifier: Apache-2.0

// Package perfmap reads perf maps: the tables of functions that compilers at run time write for profilers, mostly as
// /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt in the kernel). They name code that no run-time system
// of the other folders has named.
package perfmap
