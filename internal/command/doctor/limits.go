// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/osthread"
)

// priority: a tracer with a raised priority is not descheduled during a stop.
func (c *checker) priority() Finding {
	got := "normal"
	switch {
	case c.live:
		osthread.Run(func() { got = raise() })
	case c.self.Has(unix.CAP_SYS_NICE):
		got = "fifo"
	}
	switch got {
	case "fifo":
		return finding(OK, "SCHED_FIFO is possible: short stops even on a busy host", "")
	case "nice":
		return finding(OK, "nice -20 is possible, SCHED_FIFO is not", "")
	}
	f := finding(Warn, "cannot be raised: stops of the target can take milliseconds when all CPUs are busy",
		"give this cgroup real-time runtime (cpu.rt_runtime_us), or turn CONFIG_RT_GROUP_SCHED off")
	if c.self.Has(unix.CAP_SYS_NICE) {
		return f
	}
	return c.granting(f, 1<<unix.CAP_SYS_NICE)
}

func raise() string {
	attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
		Priority: 1}
	if unix.SchedSetAttr(0, attr, 0) == nil {
		return "fifo"
	}
	if unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20) == nil {
		return "nice"
	}
	return "normal"
}

// files: a thread keeps up to four of /proc open.
func (c *checker) files() Finding {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return finding(Warn, err.Error(), "")
	}
	detail := fmt.Sprintf("at most %d, enough for about %d threads", r.Max, r.Max/4)
	if r.Max < 4096 {
		return finding(Warn, detail+"; files of further threads are reopened for every sample",
			"ulimit -Hn 65536 (as root), or LimitNOFILE= of the systemd unit")
	}
	return finding(OK, detail, "")
}

// quota: a throttled tracer would leave a thread stopped.
func (c *checker) quota() Finding {
	limits := cgroup.Root(c.dir).CPUQuotas()
	if len(limits) == 0 {
		return finding(OK, "none", "")
	}
	l := &limits[0]
	detail := fmt.Sprintf("%.0f%% of a CPU (%s)", 100*l.Share(), l.Dir)
	if l.Share() >= enoughQuota {
		return finding(OK, detail, "")
	}
	return finding(Warn, detail+": the rate is lowered to what half of it pays for, unless the priority is SCHED_FIFO",
		"give it more (cpu.max, cpu.cfs_quota_us; a container's CPU limit), or run prywalk outside of that cgroup")
}

// enoughQuota, in CPUs, suffices for some hundred threads at 99 Hz.
const enoughQuota = 0.2
