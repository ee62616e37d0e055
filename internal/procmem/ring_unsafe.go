// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// # Words that are shared with the kernel
//
// Both sides of a ring buffer of perf events write while the other reads: the kernel data_head, the reader data_tail
// (perf_event_open(2), struct perf_event_mmap_page). Plain reads of a byte slice could come in another order.

// LoadShared reads the 64-bit word at off of memory that is shared with the kernel; what is read after it is not older.
// Precondition: off is a multiple of 8, mem begins at such an address, and the word lies within.
func LoadShared(mem []byte, off int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&mem[off : off+8][0])))
}

// StoreShared writes that word; what was read before it was read by then. The same precondition.
func StoreShared(mem []byte, off int, v uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&mem[off : off+8][0])), v)
}

// SetPeriod gives an event another period, in the event's own unit: nanoseconds of a clock. The present one ends.
func SetPeriod(fd int, period uint64) error {
	CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_PERIOD,
		uintptr(unsafe.Pointer(&period)))
	if e != 0 {
		return e
	}
	return nil
}
