// SPDX-License-Identifier: Apache-2.0

// Package sample has the words in which engines report what threads do: numbers of processes and threads, states,
// clocks, and what a sample is worth. It holds plain values, and imports nothing.
//
// # Sources
//
// The states are those of proc_pid_stat(5), the clocks those of /proc/PID/task/TID/schedstat
// (Documentation/scheduler/sched-stats.rst).
package sample
