// SPDX-License-Identifier: Apache-2.0

package ownruntime

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The Go runtime has a thread that watches the others (sysmon, runtime/proc.go). It sleeps for 20 µs at a time, and
// longer after it has found nothing to do for a millisecond. Each tick of a sampler begins that anew. That makes some
// thousand wake-ups a second: 2 to 3 % of a processor, more than the looks themselves. What it is for (taking the
// runtime's processors back from long system calls, pre-empting goroutines that have run for 10 ms) can wait a
// little. The kernel is told so by the thread's timer slack: its sleeps may last that much longer (prctl(2),
// PR_SET_TIMERSLACK; proc_pid_timerslack_ns(5), since Linux 4.6). For a thread other than the caller that takes
// CAP_SYS_NICE; without, nothing is changed.

// monitorSlack is by how much the monitor's sleeps may be longer while sampling goes on, in nanoseconds.
const monitorSlack = 40e6

// RelaxMonitor lets the runtime's monitor sleep for longer, and gives what undoes that.
func RelaxMonitor() (undo func()) {
	undo = func() {}
	tid := monitorThread()
	if tid == 0 {
		return undo
	}
	path := fmt.Sprintf("/proc/%d/timerslack_ns", tid)
	was, err := os.ReadFile(path)
	if err != nil || setSlack(path, strconv.Itoa(monitorSlack)) != nil {
		return undo
	}
	return func() { _ = setSlack(path, strings.TrimSpace(string(was))) } // it was allowed a moment ago
}

func setSlack(path, ns string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(ns)
	return err
}

// monitorThread gives the monitor's thread, 0 if there is none. It is the first that the runtime starts
// (runtime.main). So it is the second that the kernel lists, which does so by creation (fs/proc/base.c,
// proc_task_readdir).
func monitorThread() int {
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, err := dir.Readdirnames(2)
	if err != nil || len(names) < 2 {
		return 0
	}
	tid, err := strconv.Atoi(names[1])
	if err != nil {
		return 0
	}
	return tid
}
