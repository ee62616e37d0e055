// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"prywalk/frames"
)

// The calls below go past the wrappers of package syscall, which allocate for path names and build slices. They go
// past the Go scheduler, too, so that a goroutine which makes them does not lose its processor. Files under /proc
// do not block for long. Pointers are converted in the argument list of the call itself, as rule 4 of package
// unsafe asks.

// open opens a path that ends in NUL. The [Walker] of the calling thread makes the call, if it has one.
func open(path []byte, flags uintptr) (int, syscall.Errno) {
	if w := walker(path); w != nil {
		return w.open(path, flags)
	}
	return openAt(unix.AT_FDCWD, path, flags)
}

// openAt opens a path that ends in NUL, relative to a directory.
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

// longestPath is the longest path that [ReadSmall] takes, in bytes.
const longestPath = 127

// ReadSmall reads the beginning of a file whose path has up to 127 bytes, as far as buf reaches. It allocates nothing
// and does not tell the Go scheduler. Errors: [refusal.Gone], also of an empty file, [refusal.Denied], or the error
// number that the kernel gave.
func ReadSmall(path string, buf []byte) ([]byte, error) {
	var name [longestPath + 1]byte
	if len(path) > longestPath {
		return nil, syscall.ENAMETOOLONG
	}
	return readOnce(name[:copy(name[:], path)+1], buf)
}

// Readlink reads where a symbolic link under /proc leads to, cut at the end of buf.
// Errors: [refusal.Gone], [refusal.Denied], or the error number that the kernel gave.
func Readlink(path string, buf []byte) ([]byte, error) {
	name := append([]byte(path), 0)
	if len(buf) == 0 {
		return nil, syscall.EINVAL
	}
	read := readlink
	if w := walker(name); w != nil {
		read = w.readlink
	}
	n, e := read(name, buf)
	if e != 0 {
		return nil, classify(e)
	}
	return buf[:n], nil
}

// readlink reads where a link leads to. The path ends in NUL, and buf is not empty.
func readlink(path, buf []byte) (int, syscall.Errno) {
	at := unix.AT_FDCWD
	CountCall()
	n, _, e := syscall.RawSyscall6(unix.SYS_READLINKAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	return count(n, e), e
}

func closeFD(fd int) {
	CountCall()
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

// pread reads at off; an empty buffer reads nothing.
func pread(fd int, buf []byte, off uint64) (int, syscall.Errno) {
	if len(buf) == 0 {
		return 0, 0
	}
	for {
		CountCall()
		n, _, e := syscall.RawSyscall6(unix.SYS_PREAD64, uintptr(fd),
			uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), uintptr(off), 0, 0)
		if e != syscall.EINTR {
			return count(n, e), e
		}
	}
}

// preadRaw is pread at offset 0 for callers that may not grow their stack.
//
//go:nosplit
func preadRaw(fd int, buf []byte) int {
	CountCall()
	n, _, e := syscall.RawSyscall6(unix.SYS_PREAD64, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0, 0)
	if e != 0 {
		return -int(e)
	}
	return int(n)
}

// getdents reads directory entries into buf.
func getdents(fd int, buf []byte) (int, syscall.Errno) {
	CountCall()
	n, _, e := syscall.RawSyscall(unix.SYS_GETDENTS64, uintptr(fd),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	return count(n, e), e
}

// fstat describes an open file.
func fstat(fd int) (st unix.Stat_t, e syscall.Errno) {
	CountCall()
	_, _, e = syscall.RawSyscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(&st)), 0)
	return st, e
}

// seek sets a file's or directory's position.
func seek(fd int, to int64) syscall.Errno {
	CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_LSEEK, uintptr(fd), uintptr(to), unix.SEEK_SET)
	return e
}

// clock reads a clock by its number, in nanoseconds.
//
//go:nosplit
func clock(id int32) (uint64, syscall.Errno) {
	var ts unix.Timespec
	CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(id), uintptr(unsafe.Pointer(&ts)), 0)
	return uint64(ts.Sec)*1e9 + uint64(ts.Nsec), e
}

// Readable reports whether a descriptor can be read from without waiting, as that of a
// process can when the process has ended (pidfd_open(2)). It does not wait itself.
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

// SleepUntil sleeps until a moment on the clock of [Now], or until a signal comes. The Go
// scheduler is not told: the goroutine keeps its processor.
func SleepUntil(at int64) {
	ts := unix.NsecToTimespec(at)
	CountCall()
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// CPU gives the processor that the calling OS thread runs on, −1 if the kernel does
// not say. Precondition: the goroutine is locked to it.
func CPU() int {
	var cpu uint32
	CountCall()
	_, _, e := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	if e != 0 {
		return -1
	}
	return int(cpu)
}

// vmReadMayWait is vmRead, and tells the Go scheduler: other goroutines, and a garbage collection, go on if it waits.
func vmReadMayWait(pid int, addr uint64, buf []byte) (int, syscall.Errno) {
	local := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	CountCall()
	n, _, e := syscall.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	CountCopied(count(n, e))
	return count(n, e), e
}

// vmReadPartsMayWait is vmReadMayWait of several places, at most [MaxParts], none of them empty. It gives the bytes
// that were read.
func vmReadPartsMayWait(pid int, parts []frames.Region) int {
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
	CountCopied(count(n, e))
	return count(n, e)
}

// vmRead is process_vm_readv with one range on either side. buf is not empty.
func vmRead(pid int, addr uint64, buf []byte) (int, syscall.Errno) {
	local := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	CountCall()
	n, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	CountCopied(count(n, e))
	return count(n, e), e
}

// count is a call's result as a number of bytes, zero if it failed.
func count(n uintptr, e syscall.Errno) int {
	if e != 0 {
		return 0
	}
	return int(n)
}
