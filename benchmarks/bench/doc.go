// SPDX-License-Identifier: Apache-2.0

// Package bench measures the throughput that sampling costs a program, against the number of its threads.
//
// # Method
//
// The target is a workload in a process of its own (package load), the tool prywalk record or a peer (package tools).
// After warm-up the tool is switched on and off on one target. A pair is a window without and one with sampling, in
// random order, so that both have the same machine's load; its ratio is work per second with ÷ without. A row has the
// median ratio with its 95 % bootstrap interval. Counts and the tool's CPU time are of the windows with sampling,
// without its start.
package bench
