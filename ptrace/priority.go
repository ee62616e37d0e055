// SPDX-License-Identifier: Apache-2.0

package ptrace

import "golang.org/x/sys/unix"

// fifoPriority is low among the real-time priorities (1–99): above all normal
// threads, below anything that was made real-time for a reason.
const fifoPriority = 5

// raise gives the calling thread SCHED_FIFO, or else a better nice value, as far
// as CAP_SYS_NICE, RLIMIT_RTPRIO and RLIMIT_NICE allow (sched(7)). Children and
// new threads start as normal ones (SCHED_FLAG_RESET_ON_FORK).
func (c *Controller) raise() {
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return
	}
	// Sleeps of a normal thread may be late by 50 µs otherwise (prctl(2)).
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	switch was.Policy {
	case unix.SCHED_NORMAL:
	case unix.SCHED_FIFO, unix.SCHED_RR:
		c.sched = "fifo" // somebody has chosen it already
		return
	default:
		return
	}
	if was.Nice < 0 {
		c.sched = "nice"
	}
	for _, prio := range []uint32{fifoPriority, 1} {
		fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO,
			Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: prio}
		if unix.SchedSetAttr(0, &fifo, 0) == nil {
			c.sched, c.was = "fifo", was
			if c.opts.NoCollector {
				c.watchdog = newWatchdog(c.tid, prio, was)
				go c.watchdog.run()
			}
			return
		}
	}
	for _, nice := range []int32{-20, bestNice()} {
		a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL,
			Flags: unix.SCHED_FLAG_RESET_ON_FORK, Nice: nice}
		if nice < min(was.Nice, 0) && unix.SchedSetAttr(0, &a, 0) == nil {
			c.sched, c.was = "nice", was
			return
		}
	}
}

// bestNice is the lowest nice value that RLIMIT_NICE allows (setrlimit(2): 20
// less the limit).
func bestNice() int32 {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &lim) != nil {
		return 20
	}
	return 20 - int32(min(lim.Cur, 40))
}

// restorePriority undoes raise.
func (c *Controller) restorePriority() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0: the default
	if c.was == nil {
		return
	}
	c.was.Size = unix.SizeofSchedAttr
	if unix.SchedSetAttr(0, c.was, 0) != nil {
		// Clearing the reset-on-fork flag takes CAP_SYS_NICE; leave the flag.
		c.was.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
		_ = unix.SchedSetAttr(0, c.was, 0)
	}
	c.was = nil
	c.sched = "normal"
}
