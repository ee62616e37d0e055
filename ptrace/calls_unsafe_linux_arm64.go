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

// procText reads the file /proc/TID/name and gives the text, valid until the next
// call; name begins with a slash and ends in NUL.
//
//go:nosplit
func (c *Controller) procText(tid int, name string) []byte {
	procPath(tid, name, &c.procPath)
	fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, 0, uintptr(unsafe.Pointer(&c.procPath)), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if e != 0 {
		return nil
	}
	n, _, e := syscall.RawSyscall6(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&c.procBuf)), uintptr(len(c.procBuf)), 0, 0, 0)
	syscall.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	if e != 0 || n > uintptr(len(c.procBuf)) {
		return nil
	}
	return c.procBuf[:n]
}
