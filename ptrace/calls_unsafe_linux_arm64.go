package ptrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

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
