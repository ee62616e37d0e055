// SPDX-License-Identifier: Apache-2.0

package main

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

func cpuOf(pid int) (float64, error) {
	ns, err := procmem.ProcessCPU(pid)
	return float64(ns) / 1e9, err
}

func tracerOf(pid int) int {
	tids, _ := threadsOf(pid)
	for _, tid := range tids {
		if a, err := unix.SchedGetAttr(tid, 0); err == nil && a.Policy == unix.SCHED_FIFO {
			return tid
		}
	}
	return 0
}

func threadCPU(pid, tid int) float64 {
	if tid == 0 {
		return 0
	}
	files := procmem.OpenThread(pid, tid, procmem.NewFDBudget(0))
	defer files.Close()
	sched, _ := files.SchedStat()
	return float64(sched.CPU) / 1e9
}
