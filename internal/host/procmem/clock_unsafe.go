// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync/atomic"
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

// Timer is a POSIX timer's ID (timer_create(2)).
type Timer int32

type sigEvent struct {
	value         uint64
	signo, notify int32
	tid           int32
	_             [44]byte
}

// NewTimer creates a timer on a clock, whose signal goes to a thread of this process, to the process if tid is 0.
func NewTimer(clock uintptr, sig syscall.Signal, tid int) (t Timer, e syscall.Errno) {
	const sigevSignal, sigevThreadID = 0, 4
	ev := sigEvent{signo: int32(sig), notify: sigevSignal}
	if tid != 0 {
		ev.notify, ev.tid = sigevThreadID, int32(tid)
	}
	CountCall()
	_, _, e = syscall.RawSyscall(unix.SYS_TIMER_CREATE, clock, uintptr(unsafe.Pointer(&ev)), uintptr(unsafe.Pointer(&t)))
	return t, e
}

// SetAt sets the timer to a time on its clock, ns.
//
//go:nosplit
func (t Timer) SetAt(at int64) syscall.Errno { return t.set(at, unix.TIMER_ABSTIME) }

// SetIn sets the timer to ns from now; 0: never.
//
//go:nosplit
func (t Timer) SetIn(ns int64) syscall.Errno { return t.set(ns, 0) }

//go:nosplit
func (t Timer) set(ns int64, flags uintptr) syscall.Errno {
	spec := unix.ItimerSpec{Value: unix.Timespec{Sec: ns / 1e9, Nsec: ns % 1e9}}
	CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(t), flags, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	return e
}

// Delete deletes the timer.
func (t Timer) Delete() {
	CountCall()
	_, _, _ = syscall.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(t), 0, 0)
}

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
