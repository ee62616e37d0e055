// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/procmem"
)

// testedKernel is 1000 × major + minor, as in docs/limits.md.
const testedKernel = 6018

// kernel: Linux 3.4 has PTRACE_SEIZE, 5.3 pidfd_open.
func (c *checker) kernel() Finding {
	release := strings.TrimSpace(c.system.read("sys/kernel/osrelease"))
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n < 2 {
		return finding(Warn, fmt.Sprintf("unknown version %q", release), "")
	}
	version := major*1000 + minor
	switch {
	case version < 3004:
		return finding(Fail, "Linux "+release+" cannot seize threads", "Linux 3.4 or later is needed")
	case version < 5003:
		return finding(Warn, "Linux "+release+": not tested, and the end of a process is noticed later",
			"Linux 5.3 or later is better")
	case version != testedKernel:
		return finding(OK, fmt.Sprintf("Linux %s (tested: %d.%d)", release, testedKernel/1000, testedKernel%1000), "")
	}
	return finding(OK, "Linux "+release, "")
}

// feature checks a part of the kernel without which prywalk works, with less.
func feature(try func(*system) error, lost, remedy string) func(*checker) Finding {
	return func(c *checker) Finding {
		if err := try(&c.system); err != nil {
			return finding(Warn, err.Error()+": "+lost, remedy)
		}
		return finding(OK, "works", "")
	}
}

var errMissing = errors.New("missing")

// readMemory reads at address 0: a call that is allowed fails there. Package procmem would read in another way.
func (*system) readMemory() error {
	var to [1]byte
	local := []unix.Iovec{{Base: &to[0]}}
	local[0].SetLen(len(to))
	_, err := unix.ProcessVMReadv(unix.Getpid(), local, []unix.RemoteIovec{{Len: len(to)}}, 0)
	if err == nil || err == unix.EFAULT {
		return nil
	}
	return fmt.Errorf("refused (%w)", err)
}

func (*system) pidfd() error {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("not available (%w)", err)
	}
	return unix.Close(fd)
}

func (s *system) syscallFile() error {
	if s.read("self/syscall") == "" {
		return errMissing
	}
	return nil
}

func (s *system) schedstat() error {
	if f := strings.Fields(s.read("self/schedstat")); len(f) != 3 || f[0] == "0" && f[2] == "0" {
		return errMissing
	}
	return nil
}

// hidepid: Documentation/filesystems/proc.rst, chapter 4; fs/proc/base.c, has_pid_permissions.
func (c *checker) hidepid() Finding {
	mode, group := c.system.hiding()
	byGroup := mode != "4" && mode != "ptraceable" && c.system.self.InGroup(group)
	if mode == "0" || mode == "off" || byGroup || c.system.self.Has(unix.CAP_SYS_PTRACE) {
		return finding(OK, "/proc shows all processes", "")
	}
	return c.granting(finding(Warn, "/proc shows this user its own processes only (hidepid="+mode+")", ""),
		1<<unix.CAP_SYS_PTRACE)
}

// hiding returns hidepid and gid of the uppermost mount on /proc; the kernel leaves out "0".
func (s *system) hiding() (mode string, group int) {
	mode = "0"
	for line := range strings.Lines(s.read("self/mountinfo")) {
		head, tail, _ := strings.Cut(line, " - ")
		mount, source := strings.Fields(head), strings.Fields(tail)
		if len(mount) < 5 || mount[4] != "/proc" || len(source) < 3 || source[0] != "proc" {
			continue
		}
		mode, group = "0", 0
		for option := range strings.SplitSeq(source[2], ",") {
			switch key, value, _ := strings.Cut(option, "="); key {
			case "hidepid":
				mode = value
			case "gid":
				group, _ = strconv.Atoi(value)
			}
		}
	}
	return mode, group
}

// priority: a tracer with a raised priority is not descheduled during a stop.
func (c *checker) priority() Finding {
	got := "normal"
	switch {
	case c.system.live:
		procmem.OnOSThread(func() { got = raise() })
	case c.system.self.Has(unix.CAP_SYS_NICE):
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
	if c.system.self.Has(unix.CAP_SYS_NICE) {
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
			"ulimit -Hn 65536 (as root), LimitNOFILE= of the systemd unit, or --ulimit nofile=65536:65536 of the container")
	}
	return finding(OK, detail, "")
}

// quota: a throttled tracer would leave a thread stopped.
func (c *checker) quota() Finding {
	limits := cgroup.Root(c.system.dir).CPUQuotas()
	if len(limits) == 0 {
		return finding(OK, "none", "")
	}
	l := &limits[0]
	detail := describe(l)
	if l.Share() >= enoughQuota {
		return finding(OK, detail, "")
	}
	return finding(Warn, detail+": the rate is lowered to what half of it pays for, unless the priority is SCHED_FIFO",
		"give it more (cpu.max, cpu.cfs_quota_us; a container's CPU limit), or run prywalk outside of that cgroup")
}

func describe(l *cgroup.CPUQuota) string {
	return fmt.Sprintf("%.0f%% of a CPU (%s)", 100*l.Share(), l.Dir)
}

// targetQuota: a throttled target is slow whatever its functions do.
func (c *checker) targetQuota() Finding {
	limits := cgroup.Root(c.system.dir).CPUQuotasOf(c.subject.PID)
	if len(limits) == 0 {
		return finding(OK, "none that the mounted cgroups show", "")
	}
	for i := range limits { // an ancestor's may be the one that is used up
		if stat, _ := limits[i].ReadStat(); stat.Periods > 0 && 100*stat.ThrottledPeriods >= stat.Periods {
			return finding(Warn, fmt.Sprintf("%s, used up in %d of %d periods since the cgroup was made",
				describe(&limits[i]), stat.ThrottledPeriods, stat.Periods),
				"prywalk record says how long it throttles now; a larger quota or fewer threads help")
		}
	}
	return finding(OK, describe(&limits[0]), "")
}

// enoughQuota, in CPUs, suffices for some hundred threads at 99 Hz.
const enoughQuota = 0.2
