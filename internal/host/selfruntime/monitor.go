// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ns
const monitorSlack = 40e6

// RelaxMonitor raises the timer slack of the Go runtime's sysmon (proc_pid_timerslack_ns(5), Linux 4.6). sysmon
// (runtime/proc.go) sleeps 20 µs at a time until idle for 1 ms; ticks keep it awake, at 2 to 3 % of a CPU, and its work
// can wait. Without CAP_SYS_NICE nothing changes.
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
	return func() { _ = setSlack(path, strings.TrimSpace(string(was))) }
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

// sysmon is the first thread that the runtime starts (runtime.main), so the second that the kernel lists
// (fs/proc/base.c, proc_task_readdir). 0: unknown.
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
