// SPDX-License-Identifier: Apache-2.0

// Package sample defines the values in which engines report threads: numbers of processes and threads, states, clocks,
// and the time that a sample stands for.
//
// # Sources
//
// proc_pid_stat(5) (states); Documentation/scheduler/sched-stats.rst (clocks: /proc/PID/task/TID/schedstat).
package sample
