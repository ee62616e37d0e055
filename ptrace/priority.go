// SPDX-License-Identifier: Apache-2.0

package ptrace

import "golang.org/x/sys/unix"

const fifoPriority = 5

type priority struct {
	name      string
	restoreTo *unix.SchedAttr // nil: unchanged
}

// raise tries SCHED_FIFO, then a better nice value (sched(7)).
func (p *priority) raise(tid int, watched bool) *watchdog {
	was, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return nil
	}
	// default: 50 µs (prctl(2))
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	switch was.Policy {
	case unix.SCHED_NORMAL:
	case unix.SCHED_FIFO, unix.SCHED_RR:
		p.name = "fifo"
		return nil
	default:
		return nil
	}
	if was.Nice < 0 {
		p.name = "nice"
	}
	for _, prio := range []uint32{fifoPriority, 1} {
		fifo := realTime(prio)
		if unix.SchedSetAttr(0, &fifo, 0) == nil {
			p.name, p.restoreTo = "fifo", was
			if !watched {
				return nil
			}
			w := newWatchdog(tid, prio, was)
			go w.run()
			return w
		}
	}
	for _, nice := range []int32{-20, bestNice()} {
		a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL,
			Flags: unix.SCHED_FLAG_RESET_ON_FORK, Nice: nice}
		if nice < min(was.Nice, 0) && unix.SchedSetAttr(0, &a, 0) == nil {
			p.name, p.restoreTo = "nice", was
			return nil
		}
	}
	return nil
}

func realTime(priority uint32) unix.SchedAttr {
	return unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
		Priority: priority}
}

// 20 − RLIMIT_NICE (setrlimit(2))
func bestNice() int32 {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &lim) != nil {
		return 20
	}
	return 20 - int32(min(lim.Cur, 40))
}

func (p *priority) restore() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // 0 sets the default
	if p.restoreTo == nil {
		return
	}
	p.restoreTo.Size = unix.SizeofSchedAttr
	if unix.SchedSetAttr(0, p.restoreTo, 0) != nil {
		// clearing reset-on-fork needs CAP_SYS_NICE
		p.restoreTo.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
		_ = unix.SchedSetAttr(0, p.restoreTo, 0)
	}
	p.restoreTo = nil
	p.name = "normal"
}
