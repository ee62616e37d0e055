// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"fmt"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// struct perf_event_mmap_page, struct perf_event_header.
const (
	offHead   = 1024
	offTail   = 1032
	headerLen = 8
	largest   = 1 << 16 // bytes of a record
)

type ring struct {
	fd, cpu int
	mem     []byte // with its first page; nil means closed
	data    []byte // a power of two
	wrap    []byte // copy of a record that wraps
}

// openRing maps size bytes, a power of two. pid −1: all threads.
func openRing(attr *unix.PerfEventAttr, pid, cpu, size int) (*ring, error) {
	fd, err := unix.PerfEventOpen(attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	page := unix.Getpagesize()
	mem, err := unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("%w: %d KiB for processor %d: %w", errNoRoom, size>>10, cpu, err)
	}
	return &ring{fd: fd, cpu: cpu, mem: mem, data: mem[page:], wrap: make([]byte, largest)}, nil
}

func (g *ring) close() {
	if g.mem != nil {
		_ = unix.Munmap(g.mem) // own memory
		_ = unix.Close(g.fd)
		g.mem, g.data = nil, nil
	}
}

func (g *ring) head() uint64 { return procmem.LoadShared(g.mem, offHead) }

// drain passes the records up to head and releases their room. At a malformed record it drops the rest, and returns
// false.
func (g *ring) drain(r *Record, head uint64, take func(*Record)) (ok bool) {
	tail, ok := walkRing(g.data, g.wrap, head, procmem.LoadShared(g.mem, offTail), allTypes, r, take)
	procmem.StoreShared(g.mem, offTail, tail)
	return ok
}

// readTasks passes the records about tasks up to head, and releases nothing.
func (g *ring) readTasks(r *Record, head uint64, take func(*Record)) {
	walkRing(g.data, g.wrap, head, procmem.LoadShared(g.mem, offTail), taskTypes, r, take)
}

const (
	allTypes  = ^uint64(0)
	taskTypes = 1<<typeComm | 1<<typeExit | 1<<typeFork | 1<<typeMmap2
)

// walkRing passes the records of types, a bit set, from tail to head. It returns where it ended; false means a record
// is malformed, and the rest is dropped.
func walkRing(data, wrap []byte, head, tail, types uint64, r *Record, take func(*Record)) (end uint64, ok bool) {
	size := uint64(len(data))
	if head-tail > size || head%headerLen != 0 || tail%headerLen != 0 {
		return head, false
	}
	for tail != head {
		offset := tail & (size - 1)
		header := word(data[offset:]) // 8-aligned: a header does not wrap
		recordType, misc, n := uint32(header), uint16(header>>32), header>>48
		if n < headerLen || n%headerLen != 0 || n > head-tail {
			return head, false
		}
		if recordType < 64 && types>>recordType&1 == 0 {
			tail += n
			continue
		}
		body := data[offset+headerLen : min(offset+n, size)]
		if offset+n > size {
			copied := copy(wrap, body)
			copied += copy(wrap[copied:], data[:offset+n-size])
			body = wrap[:copied]
		}
		if !parse(recordType, misc, body, r) {
			return head, false
		}
		if r.Kind != Other {
			take(r)
		}
		tail += n
	}
	return head, true
}
