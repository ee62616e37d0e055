// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapQuery is struct procmap_query (include/uapi/linux/fs.h, Linux 6.11).
type mapQuery struct {
	size, flags, addr              uint64
	start, end, perm, page, offset uint64
	inode                          uint64
	major, minor                   uint32
	nameSize, buildIDSize          uint32
	name, buildID                  uint64
}

const (
	procmapQuery = 0xc0686611 // PROCMAP_QUERY, _IOWR('f', 17, struct procmap_query)
	mapReadable  = 1
	mapWritable  = 2
	mapExec      = 4
	mapShared    = 8
)

func (m *Memory) query(by *threadReads, addr uint64, out *Span) bool {
	if m.maps.fd() < 0 {
		m.noQueries.Store(true)
		return false
	}
	q := mapQuery{addr: addr}
	if !m.ask(by, &q) {
		return false
	}
	*out = Span{Start: q.start, End: q.end, Kind: q.kind()}
	return true
}

// ask is not nosplit: on arm64 its callers have no room left (cmd/link: nosplit stack over 792 byte limit).
func (m *Memory) ask(by *threadReads, q *mapQuery) bool {
	fd := m.maps.fd()
	if fd < 0 || m.noQueries.Load() {
		return false
	}
	q.size = uint64(unsafe.Sizeof(*q))
	var e syscall.Errno
	if by != nil {
		e = by.query(fd, q)
	} else {
		CountCall()
		_, _, e = syscall.RawSyscall(unix.SYS_IOCTL, uintptr(fd), procmapQuery, uintptr(unsafe.Pointer(q)))
	}
	if e == syscall.ENOTTY || e == syscall.EPERM {
		m.noQueries.Store(true)
	}
	return e == 0
}

var discardedName [64]byte

// QueryAnonymous asks the kernel for addr's mapping. ok: it is readable, without file and name, so made at run time.
// code: it is executable.
func (m *Memory) QueryAnonymous(addr uint64) (s Span, code, ok bool) {
	q := mapQuery{addr: addr, nameSize: uint32(len(discardedName)), name: uint64(uintptr(unsafe.Pointer(&discardedName)))}
	if !m.ask(nil, &q) || q.perm&(mapReadable|mapShared) != mapReadable || q.inode != 0 || q.major != 0 || q.minor != 0 ||
		q.nameSize != 0 {
		return Span{}, false, false
	}
	s = Span{Start: q.start, End: q.end, Kind: Anonymous, Writable: q.perm&mapWritable != 0}
	return s, q.perm&mapExec != 0, true
}

//go:nosplit
func (q *mapQuery) kind() SpanKind {
	switch {
	case q.perm&mapReadable == 0:
		return NotMemory
	case q.inode != 0 || q.major != 0 || q.minor != 0 || q.perm&mapShared != 0:
		return FileBacked
	case q.perm&mapWritable == 0:
		return NotMemory
	}
	return Anonymous
}

// preadBy returns a negative errno on error.
//
//go:nosplit
func preadBy(by *threadReads, fd int, buf []byte, off uint64) int {
	if by != nil {
		return by.pread(fd, buf, off)
	}
	n, e := pread(fd, buf, off)
	if e != 0 {
		return -int(e)
	}
	return n
}

// preadLong is for reads that may wait: it holds up no collection.
func preadLong(fd int, buf []byte, off uint64) int {
	CountCall()
	pinned := ReleasePins()
	n, _, e := syscall.Syscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)),
		uintptr(off), 0, 0)
	RestorePins(pinned)
	return bytesOr0(n, e)
}

// sharesParentMemory reports one address space with the parent, as after vfork(2). If kcmp(2) is refused (seccomp), it
// is a guess: the parent's first thread waits as in vfork, and both have the same addresses of program and stack.
func sharesParentMemory(pid int) bool {
	const addressSpace = 1 // KCMP_VM, include/uapi/linux/kcmp.h
	var s, parent Stat
	if ReadStat(pid, &s) != nil || s.PPID == 0 {
		return false
	}
	CountCall()
	order, _, e := syscall.RawSyscall6(unix.SYS_KCMP, uintptr(pid), uintptr(s.PPID), addressSpace, 0, 0, 0)
	if e == 0 {
		return order == 0
	}
	return s.StartCode != 0 && ReadStat(s.PPID, &parent) == nil && parent.State == 'D' &&
		parent.StartCode == s.StartCode && parent.StartStack == s.StartStack
}
