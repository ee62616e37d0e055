// SPDX-License-Identifier: Apache-2.0

// Package cgroup reads control groups: of this process, the CPU quotas, what is left of one, and the memory limit; of
// other processes, how long quotas throttled them, and whether they are frozen.
//
// A group may use its quota of CPU time per period (cgroup v2: cpu.max; v1: cpu.cfs_quota_us, cpu.cfs_period_us).
// Beyond it, its threads are throttled until the period ends: also a tracer, and with it the thread that it has
// stopped. The kernel counts periods, throttled periods and throttled time (cpu.stat; kernel/sched/core.c,
// cpu_cfs_stat_show; Documentation/scheduler/sched-bwc.rst). Real-time threads are exempt.
package cgroup
