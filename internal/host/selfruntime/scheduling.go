// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
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

// sched(7)
const bestNice = -20

// raisePriority sets the best nice value for ordinary threads during a collection: with five threads per CPU, 20 ms of
// work would take 100 to 250. Children start as usual (SCHED_FLAG_RESET_ON_FORK). Without CAP_SYS_NICE nothing changes.
func raisePriority() (undo func()) {
	was := map[int]*unix.SchedAttr{}
	tids, _ := procmem.ListTasks(os.Getpid(), nil)
	for _, tid := range tids {
		a, err := unix.SchedGetAttr(tid, 0)
		if err != nil || a.Policy != unix.SCHED_NORMAL || a.Nice <= bestNice {
			continue
		}
		best := *a
		best.Size, best.Nice, best.Flags = unix.SizeofSchedAttr, bestNice, a.Flags|unix.SCHED_FLAG_RESET_ON_FORK
		if unix.SchedSetAttr(tid, &best, 0) == nil {
			was[tid] = a
		}
	}
	return func() {
		for tid, a := range was {
			if unix.Tgkill(os.Getpid(), tid, 0) == nil { // else the ID may be reused
				a.Size = unix.SizeofSchedAttr
				_ = unix.SchedSetAttr(tid, a, 0)
			}
		}
	}
}

// CPUTimeOf returns f's CPU time.
func CPUTimeOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := CPUTime()
	f()
	return CPUTime() - began
}

// CPUTime returns this OS thread's CPU time.
func CPUTime() time.Duration { return time.Duration(procmem.ThreadCPU()) }
