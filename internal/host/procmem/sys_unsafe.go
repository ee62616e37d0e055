// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"
	"unsafe"

	"prywalk/frames"

	"golang.org/x/sys/unix"
)

// open opens a path, which ends in NUL, by the calling thread's [PathOpener] if any. Raw system calls do not enter the
// Go scheduler.
func open(path []byte, flags uintptr) (int, syscall.Errno) {
	if o := pathOpener(path); o != nil {
		return o.open(path, flags)
	}
	return openAt(unix.AT_FDCWD, path, flags)
}

func openAt(at int, path []byte, flags uintptr) (int, syscall.Errno) {
	if len(path) == 0 || path[len(path)-1] != 0 {
		return -1, syscall.EINVAL
	}
	for {
		CountCall()
		fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, uintptr(at),
			uintptr(unsafe.Pointer(&path[0])), flags|unix.O_CLOEXEC|unix.O_RDONLY, 0, 0, 0)
		if e != syscall.EINTR {
			return int(fd), e
		}
	}
}

const maxPath = 127

// ReadSmall reads the beginning of a file, without allocation, outside the Go scheduler. path has at most 127 bytes.
// Errors: [errs.Exited], also for an empty file, [errs.Denied], or an errno.
func ReadSmall(path string, buf []byte) ([]byte, error) {
	var name [maxPath + 1]byte
	if len(path) > maxPath {
		return nil, syscall.ENAMETOOLONG
	}
	return readOnce(name[:copy(name[:], path)+1], buf)
}

// Readlink reads a link below /proc into buf, truncated to fit. Errors: [errs.Exited], [errs.Denied], or an
// errno.
func Readlink(path string, buf []byte) ([]byte, error) {
	name := append([]byte(path), 0)
	if len(buf) == 0 {
		return nil, syscall.EINVAL
	}
	read := readlink
	if o := pathOpener(name); o != nil {
		read = o.readlink
	}
	n, e := read(name, buf)
	if e != 0 {
		return nil, classify(e)
	}
	return buf[:n], nil
}

func readlink(path, buf []byte) (int, syscall.Errno) {
	at := unix.AT_FDCWD
	CountCall()
	n, _, e := syscall.RawSyscall6(unix.SYS_READLINKAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	return bytesOr0(n, e), e
}

func closeFD(fd int) {
	CountCall()
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

//go:nosplit
func pread(fd int, buf []byte, off uint64) (int, syscall.Errno) {
	if len(buf) == 0 {
		return 0, 0
	}
	for {
		CountCall()
		n, _, e := syscall.RawSyscall6(unix.SYS_PREAD64, uintptr(fd),
			uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), uintptr(off), 0, 0)
		if e != syscall.EINTR {
			return bytesOr0(n, e), e
		}
	}
}

func getdents(fd int, buf []byte) (int, syscall.Errno) {
	CountCall()
	n, _, e := syscall.RawSyscall(unix.SYS_GETDENTS64, uintptr(fd),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	return bytesOr0(n, e), e
}

func fstat(fd int) (st unix.Stat_t, e syscall.Errno) {
	CountCall()
	_, _, e = syscall.RawSyscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(&st)), 0)
	return st, e
}

func seek(fd int, to int64) syscall.Errno {
	CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_LSEEK, uintptr(fd), uintptr(to), unix.SEEK_SET)
	return e
}

// Readable reports whether a read of fd would not wait: of a pidfd, after its process's end (pidfd_open(2)).
func Readable(fd int) bool {
	p := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	var now unix.Timespec
	for {
		CountCall()
		n, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1,
			uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		if e != syscall.EINTR {
			return e != 0 || n != 0
		}
	}
}

//go:nosplit
func bytesOr0(n uintptr, e syscall.Errno) int {
	if e != 0 {
		return 0
	}
	return int(n)
}

func vmReadMayWait(pid int, addr uint64, buf []byte) (int, syscall.Errno) {
	return vmReadPartsMayWait(pid, []frames.Region{{Addr: addr, Bytes: buf}})
}

func vmReadPartsMayWait(pid int, parts []frames.Region) (int, syscall.Errno) {
	var local [MaxParts]unix.Iovec
	var remote [MaxParts]unix.RemoteIovec
	for i := range parts {
		b := parts[i].Bytes
		local[i] = unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))}
		remote[i] = unix.RemoteIovec{Base: uintptr(parts[i].Addr), Len: len(b)}
	}
	k := uintptr(len(parts))
	CountCall()
	n, _, e := syscall.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid),
		uintptr(unsafe.Pointer(&local)), k, uintptr(unsafe.Pointer(&remote)), k, 0)
	CountCopied(bytesOr0(n, e))
	return bytesOr0(n, e), e
}

// RawReadVM is process_vm_readv(2), without a safe point of the Go runtime.
//
//go:nosplit
func RawReadVM(pid int, addr uint64, buf []byte) (int, syscall.Errno) {
	local := unix.Iovec{Base: unsafe.SliceData(buf), Len: uint64(len(buf))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	CountCall()
	n, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	CountCopied(bytesOr0(n, e))
	return bytesOr0(n, e), e
}
