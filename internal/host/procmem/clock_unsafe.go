// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"
	"unsafe" // also for linkname

	"golang.org/x/sys/unix"
)

// nanotime has no safe points. It is kept for linkname (go.dev/issue/67401).
//
//go:linkname nanotime runtime.nanotime
//go:nosplit
func nanotime() int64

//go:nosplit
func clock(id int32) (uint64, syscall.Errno) {
	var ts unix.Timespec
	CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(id), uintptr(unsafe.Pointer(&ts)), 0)
	return uint64(ts.Sec)*1e9 + uint64(ts.Nsec), e
}

// SleepUntil sleeps until a time on the clock of [Now], or a signal, outside the Go scheduler.
func SleepUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	CountCall()
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// CPU returns the calling OS thread's CPU, −1 if unknown. Precondition: the goroutine is locked to the thread.
func CPU() int {
	var cpu uint32
	CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	if e != 0 {
		return -1
	}
	return int(cpu)
}
