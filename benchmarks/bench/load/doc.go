// SPDX-License-Identifier: Apache-2.0

// Package load is the workload busy, a process of its own: threads that compute and threads that sleep.
//
// It prints [Ready], answers each line of standard input with a [Report], and ends at its end, as do the loads of
// benchmarks/overhead.
package load
