// SPDX-License-Identifier: Apache-2.0

// Package sample defines the values in which engines report threads.
//
// Sources: proc_pid_stat(5) (states); Documentation/scheduler/sched-stats.rst (/proc/PID/task/TID/schedstat).
package sample
