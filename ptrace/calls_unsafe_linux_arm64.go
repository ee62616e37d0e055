// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// regSetSyscall is NT_ARM_SYSTEM_CALL.
const regSetSyscall = 0x404

//go:nosplit
func setSyscall(tid int, nr int32) syscall.Errno {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(&nr)), Len: uint64(unsafe.Sizeof(nr))}
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid),
		regSetSyscall, uintptr(unsafe.Pointer(&iov)), 0, 0)
	return e
}

// syscallInfo is struct ptrace_syscall_info (include/uapi/linux/ptrace.h) at a seccomp stop.
type syscallInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	nr     uint64
	args   [6]uint64
	_      uint64
}

const (
	getSyscallInfo  = 0x420e // PTRACE_GET_SYSCALL_INFO, Linux 5.3
	opSeccomp       = 3      // PTRACE_SYSCALL_INFO_SECCOMP
	codeSeccompStop = int32(unix.SIGTRAP) | unix.PTRACE_EVENT_SECCOMP<<8
)

// seccompInfo reads the system call in an interrupt stop. The kernel shows it only at seccomp stops, known by si_code
// (kernel/ptrace.c, ptrace_get_syscall_info), which is changed for the request.
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
	_ = ptrace(unix.PTRACE_SETSIGINFO, tid, 0, at)
	return e == 0 && call.op == opSeccomp
}

//go:nosplit
func setRegSet(tid int, words *rawRegs, n int) syscall.Errno {
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(words)), Len: uint64(n)}
	procmem.CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid),
		regSetGeneral, uintptr(unsafe.Pointer(&iov)), 0, 0)
	return e
}

// signalsPending reports whether signals of the thread or of its process are pending (PTRACE_PEEKSIGINFO), or unknown.
//
//go:nosplit
func signalsPending(tid int) bool {
	var info sigInfo
	for flags := range uint32(2) {
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

// sigMask returns the mask after the call (PTRACE_GETSIGMASK).
//
//go:nosplit
func sigMask(tid int) (mask uint64, ok bool) {
	e := ptrace(unix.PTRACE_GETSIGMASK, tid, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	return mask, e == 0
}

// text reads /proc/TID/name, valid until the next call. name is "/…\x00".
//
//go:nosplit
func (f *procFiles) text(tid int, name string) []byte {
	procPath(tid, name, &f.path)
	fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, 0, uintptr(unsafe.Pointer(&f.path)), unix.O_RDONLY|unix.O_CLOEXEC,
		0, 0, 0)
	if e != 0 {
		return nil
	}
	n, _, e := syscall.RawSyscall6(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&f.buf)), uintptr(len(f.buf)), 0, 0,
		0)
	syscall.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	if e != 0 || n > uintptr(len(f.buf)) {
		return nil
	}
	return f.buf[:n]
}
