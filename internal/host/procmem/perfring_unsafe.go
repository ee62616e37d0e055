// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LoadShared loads the 64-bit word at off with acquire order: data_head of a perf ring buffer (perf_event_open(2)).
// Precondition: mem and off are aligned to 8.
func LoadShared(mem []byte, off int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&mem[off : off+8][0])))
}

// StoreShared stores with release order, as data_tail. Preconditions: those of LoadShared.
func StoreShared(mem []byte, off int, v uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&mem[off : off+8][0])), v)
}

// SetPeriod sets a perf event's period, in its unit, and ends the current one.
func SetPeriod(fd int, period uint64) error {
	CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_PERIOD,
		uintptr(unsafe.Pointer(&period)))
	if e != 0 {
		return e
	}
	return nil
}
