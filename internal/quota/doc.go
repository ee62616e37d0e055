// SPDX-License-Identifier: Apache-2.0

// Package quota finds the CPU quotas that this process runs under, and what is left of them, and the memory limit.
//
// A control group may use so much processor time in each period (cpu.max of cgroup v2; cpu.cfs_quota_us and
// cpu.cfs_period_us of v1). When that is used up, all of its threads stand still until the period is over, whatever
// they are at: a tracer, too, whose tracee then stands still as well. The kernel says how many periods there were, in
// how many of them somebody had to stand still, and for how long (cpu.stat; kernel/sched/core.c, cpu_cfs_stat_show;
// Documentation/scheduler/sched-bwc.rst). Threads with a real-time priority are no part of this.
package quota
