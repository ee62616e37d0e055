package procmem

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadVM copies memory of a process at addr into buf, and gives the number of
// bytes read: less than asked for where the mapped memory ends, which is no
// error as long as something was read. Errors: [ErrGone], [ErrDenied],
// [ErrFault]. Nothing is stopped: a running owner may write meanwhile.
//
// Where process_vm_readv is filtered or missing, it reads /proc/PID/mem.
func ReadVM(pid int, addr uint64, buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, nil
	}
	local := [1]unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	remote := [1]unix.RemoteIovec{{Base: uintptr(addr), Len: len(buf)}}
	n, e := vmRead(pid, local[:], remote[:])
	if e == syscall.EPERM || e == syscall.ENOSYS {
		return readMem(pid, addr, buf)
	}
	return n, classify(e)
}

// Range is a piece of memory to read with [ReadVMv].
type Range struct {
	// Addr is where it starts.
	Addr uint64
	// Buf takes the bytes; its length is what is asked for.
	Buf []byte
	// N is set to the number of bytes read, from the start.
	N int
}

// maxRanges bounds the ranges of one system call; more take further calls.
const maxRanges = 16

// ReadVMv reads several pieces of a process's memory, in one system call where
// all of them are mapped, and sets their N. One that cannot be read has N = 0 or
// less than its length, and does not keep those after it from being read. The
// number is the sum. The error is that of [ReadVM] if nothing was read at all.
func ReadVMv(pid int, ranges []Range) (int, error) {
	total := 0
	var first error
	for i := range ranges {
		ranges[i].N = 0
	}
	for len(ranges) > 0 {
		n, done, err := readSome(pid, ranges)
		total += n
		if err != nil && first == nil {
			first = err
		}
		if errors.Is(err, ErrGone) || errors.Is(err, ErrDenied) {
			break
		}
		ranges = ranges[done:]
	}
	if total > 0 {
		return total, nil
	}
	return 0, first
}

// readSome does one system call, and gives the bytes read and the number of
// ranges that it has dealt with: all, or up to one that could not be read.
func readSome(pid int, ranges []Range) (n, done int, err error) {
	var local [maxRanges]unix.Iovec
	var remote [maxRanges]unix.RemoteIovec
	ranges = ranges[:min(len(ranges), maxRanges)]
	k := 0
	for i := range ranges {
		if r := &ranges[i]; len(r.Buf) > 0 {
			local[k] = unix.Iovec{Base: unsafe.SliceData(r.Buf), Len: uint64(len(r.Buf))}
			remote[k] = unix.RemoteIovec{Base: uintptr(r.Addr), Len: len(r.Buf)}
			k++
		}
	}
	if k == 0 {
		return 0, len(ranges), nil
	}
	n, e := vmRead(pid, local[:k], remote[:k])
	if e == syscall.EPERM || e == syscall.ENOSYS {
		return readEach(pid, ranges)
	}
	return n, share(ranges, n), classify(e)
}

// share spreads the bytes that a call read over its ranges, and gives the number
// of ranges up to and with the first that is not full.
func share(ranges []Range, n int) int {
	for i := range ranges {
		r := &ranges[i]
		r.N = min(n, len(r.Buf))
		n -= r.N
		if r.N < len(r.Buf) {
			return i + 1
		}
	}
	return len(ranges)
}

// readEach is readSome through /proc/PID/mem.
func readEach(pid int, ranges []Range) (n, done int, err error) {
	for i := range ranges {
		r := &ranges[i]
		var e error
		if r.N, e = readMem(pid, r.Addr, r.Buf); e != nil {
			err = e
		}
		n += r.N
	}
	return n, len(ranges), err
}

// readMem reads through /proc/PID/mem, which asks for the same permission but is
// no system call of its own that a filter might refuse.
func readMem(pid int, addr uint64, buf []byte) (int, error) {
	var p pathBuf
	fd, e := open(p.process(pid, "mem"), 0)
	if e != 0 {
		return 0, classify(e)
	}
	defer closeFD(fd)
	total := 0
	for total < len(buf) {
		n, e := pread(fd, buf[total:], addr+uint64(total))
		if n <= 0 {
			if total > 0 {
				break
			}
			if e == 0 { // the address space has gone
				return 0, ErrGone
			}
			if e == syscall.EINVAL { // an offset that is negative as a number
				return 0, ErrFault
			}
			return 0, classify(e)
		}
		total += n
	}
	return total, nil
}
