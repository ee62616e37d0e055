// SPDX-License-Identifier: Apache-2.0

package ownruntime

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// While garbage is collected nobody is looked at. The collector's threads are as many others to the kernel: where five
// threads want each processor, 20 ms of work take 100, or 250, and nobody knows what the targets did meanwhile. So for
// that time this process's threads have the best nice value. The work is the same, and the targets wait for it once.

// bestNice is the best nice value there is (sched(7)).
const bestNice = -20

// hurry gives this process's ordinary threads the best nice value, and gives what undoes that. Threads and processes
// that they start meanwhile begin as usual (SCHED_FLAG_RESET_ON_FORK). It takes CAP_SYS_NICE; without, nothing is
// changed.
func hurry() (undo func()) {
	was := map[int]*unix.SchedAttr{}
	tids, _ := procmem.ListTasks(os.Getpid(), nil) // if they cannot be listed, none hurries
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
			if unix.Tgkill(os.Getpid(), tid, 0) == nil { // else it has ended, and its number may be another's
				a.Size = unix.SizeofSchedAttr
				_ = unix.SchedSetAttr(tid, a, 0) // it was allowed a moment ago
			}
		}
	}
}
