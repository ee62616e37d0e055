// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// regSetSyscall is the number of the system call (NT_ARM_SYSTEM_CALL).
const regSetSyscall = 0x404

// setSyscall writes the number of the system call that the kernel takes the thread
// to be in, −1 for none.
//
//go:nosplit
func setSyscall(tid int, nr int32) syscall.Errno {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(&nr)), Len: uint64(unsafe.Sizeof(nr))}
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid),
		regSetSyscall, uintptr(unsafe.Pointer(&iov)), 0, 0)
	return e
}

// syscallInfo is struct ptrace_syscall_info (include/uapi/linux/ptrace.h) as it is filled at
// the stop of a seccomp filter.
type syscallInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	nr     uint64
	args   [6]uint64
	_      uint64
}

// A stop is taken for that of a seccomp filter by its siginfo's code alone
// (kernel/ptrace.c, ptrace_get_syscall_info).
const (
	getSyscallInfo  = 0x420e // PTRACE_GET_SYSCALL_INFO, since Linux 5.3
	opSeccomp       = 3      // PTRACE_SYSCALL_INFO_SECCOMP
	codeSeccompStop = int32(unix.SIGTRAP) | unix.PTRACE_EVENT_SECCOMP<<8
)

// seccompInfo has the kernel tell the system call of a thread that PTRACE_INTERRUPT stopped as if a seccomp filter
// had, which it does only of such a stop. Meanwhile the stop's siginfo, which nothing else reads, says that it is
// one. False if the kernel does not.
//
//go:nosplit
func seccompInfo(tid int, info *sigInfo, call *syscallInfo) bool {
	at := uintptr(unsafe.Pointer(info))
	if ptrace(unix.PTRACE_GETSIGINFO, tid, 0, at) != 0 {
		return false
	}
	code := info.code
	info.code = codeSeccompStop
	if ptrace(unix.PTRACE_SETSIGINFO, tid, 0, at) != 0 {
		return false
	}
	call.op = 0
	e := ptrace(getSyscallInfo, tid, unsafe.Sizeof(*call), uintptr(unsafe.Pointer(call)))
	info.code = code
	_ = ptrace(unix.PTRACE_SETSIGINFO, tid, 0, at) // it was set just before
	return e == 0 && call.op == opSeccomp
}

// setRegSet writes the first n bytes of the general registers.
//
//go:nosplit
func setRegSet(tid int, words *rawRegs, n int) syscall.Errno {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(words)), Len: uint64(n)}
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid),
		regSetGeneral, uintptr(unsafe.Pointer(&iov)), 0, 0)
	return e
}

// signalsPending reports whether the stopped thread, or its process, has a signal
// queued (PTRACE_PEEKSIGINFO).
//
//go:nosplit
func signalsPending(tid int) bool {
	var info sigInfo
	for flags := range uint32(2) { // own queue, then PTRACE_PEEKSIGINFO_SHARED
		args := struct {
			off   uint64
			flags uint32
			nr    int32
		}{flags: flags, nr: 1}
		procmem.CountCall()
		n, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKSIGINFO, uintptr(tid),
			uintptr(unsafe.Pointer(&args)), uintptr(unsafe.Pointer(&info)), 0, 0)
		if e != 0 || n != 0 {
			return true
		}
	}
	return false
}

// sigMask reads the signal mask that the stopped thread has, or gets back when the call that it
// is in ends (PTRACE_GETSIGMASK).
//
//go:nosplit
func sigMask(tid int) (mask uint64, ok bool) {
	e := ptrace(unix.PTRACE_GETSIGMASK, tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	return mask, e == 0
}

// procText reads the file /proc/TID/name and gives the text, valid until the next
// call; name begins with a slash and ends in NUL.
//
//go:nosplit
func (c *Controller) procText(tid int, name string) []byte {
	procPath(tid, name, &c.procPath)
	fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, 0, uintptr(unsafe.Pointer(&c.procPath)), unix.O_RDONLY|unix.O_CLOEXEC,
		0, 0, 0)
	if e != 0 {
		return nil
	}
	n, _, e := syscall.RawSyscall6(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&c.procBuf)), uintptr(len(c.procBuf)), 0, 0,
		0)
	syscall.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	if e != 0 || n > uintptr(len(c.procBuf)) {
		return nil
	}
	return c.procBuf[:n]
}
