// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// descriptor is an open file of /proc/PID. A reopened file keeps its number: concurrent reads are safe.
type descriptor struct{ numberPlusOne atomic.Int32 } // 0: none

//go:nosplit
func (d *descriptor) fd() int { return int(d.numberPlusOne.Load()) - 1 }

func (d *descriptor) open(pid int, name string) {
	old := d.fd()
	if old < 0 && !memoryBudget().Take(1) {
		return
	}
	var p pathBuf
	fd, e := open(p.process(pid, name), 0)
	switch {
	case e != 0 && old < 0:
		memoryBudget().Give(1)
	case e != 0:
	case old < 0:
		d.numberPlusOne.Store(int32(fd) + 1)
	default:
		CountCall()
		_ = unix.Dup3(fd, old, unix.O_CLOEXEC)
		closeFD(fd)
	}
}

// close has the precondition that no read is concurrent.
func (d *descriptor) close() {
	if fd := d.numberPlusOne.Swap(0); fd > 0 {
		closeFD(int(fd) - 1)
		memoryBudget().Give(1)
	}
}
