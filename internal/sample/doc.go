// SPDX-License-Identifier: Apache-2.0

// Package sample defines the values in which engines report threads: numbers of processes and threads, states, clocks,
// and the time that a sample stands for. It has no behaviour, and imports nothing.
//
// # Sources
//
// The states are those of proc_pid_stat(5), the clocks those of /proc/PID/task/TID/schedstat
// (Documentation/scheduler/sched-stats.rst).
package sample
