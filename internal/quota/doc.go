// SPDX-License-Identifier: Apache-2.0

// Package quota finds the CPU quotas and the memory limit of this process's control groups, what is left of a quota,
// how long other processes' groups were throttled, and whether they are frozen.
//
// A group may use its quota of CPU time per period (cgroup v2: cpu.max; v1: cpu.cfs_quota_us, cpu.cfs_period_us).
// Beyond it, its threads are throttled until the period ends: also a tracer, and with it the thread that it has
// stopped. The kernel counts periods, throttled periods and throttled time (cpu.stat; kernel/sched/core.c,
// cpu_cfs_stat_show; Documentation/scheduler/sched-bwc.rst). Real-time threads are exempt.
package quota
