// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// FDBudget is how many descriptors [ThreadFiles], [TaskDir] and [Memory] may keep open; nil allows none. Safe for
// concurrent use.
type FDBudget struct {
	left atomic.Int64
}

// NewFDBudget returns a budget of the soft RLIMIT_NOFILE, less the part of [Memory] and reserve. Such budgets do not
// know of each other: reserve must cover the others.
func NewFDBudget(reserve int) *FDBudget {
	b := new(FDBudget)
	limit := fileLimit()
	b.left.Store(limit - limit/memoryPart - int64(reserve))
	return b
}

// The files of all [Memory] may be 1/memoryPart of the limit.
const memoryPart = 4

func newMemoryBudget() *FDBudget {
	b := new(FDBudget)
	b.left.Store(fileLimit() / memoryPart)
	return b
}

var memoryBudget = sync.OnceValue(newMemoryBudget)

// fileLimit returns 0 on error.
func fileLimit() int64 {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil {
		return 0
	}
	return int64(min(lim.Cur, 1<<30))
}

// Take returns false if fewer than n descriptors are left.
func (b *FDBudget) Take(n int) bool {
	if b == nil {
		return false
	}
	if b.left.Add(int64(-n)) >= 0 {
		return true
	}
	b.left.Add(int64(n))
	return false
}

// Give returns n descriptors.
func (b *FDBudget) Give(n int) {
	if b != nil {
		b.left.Add(int64(n))
	}
}

// Left returns the number of descriptors left.
func (b *FDBudget) Left() int {
	if b == nil {
		return 0
	}
	return int(max(b.left.Load(), 0))
}

// DescriptorsFree reports whether the process can open n more files now, by opening them: meanwhile, other threads of
// this process may lack them.
func DescriptorsFree(n int) bool {
	fds := make([]int, 0, n)
	defer func() {
		for _, fd := range fds {
			closeFD(fd)
		}
	}()
	for range n {
		fd, e := openAt(unix.AT_FDCWD, []byte("/\x00"), unix.O_PATH)
		if e != 0 {
			return false
		}
		fds = append(fds, fd)
	}
	return true
}

// descriptor is an open file of /proc/PID. A reopened file keeps its number: concurrent reads are safe.
type descriptor struct{ numberPlusOne atomic.Int32 } // 0 if none is open

//go:nosplit
func (d *descriptor) fd() int { return int(d.numberPlusOne.Load()) - 1 }

func (d *descriptor) open(pid int, name string) {
	old := d.fd()
	if old < 0 && !memoryBudget().Take(1) {
		return
	}
	var p pathBuf
	fd, e := open(p.process(pid, name), 0)
	switch {
	case e != 0 && old < 0:
		memoryBudget().Give(1)
	case e != 0:
	case old < 0:
		d.numberPlusOne.Store(int32(fd) + 1)
	default:
		CountCall()
		_ = unix.Dup3(fd, old, unix.O_CLOEXEC)
		closeFD(fd)
	}
}

// close has the precondition that no read is concurrent.
func (d *descriptor) close() {
	if fd := d.numberPlusOne.Swap(0); fd > 0 {
		closeFD(int(fd) - 1)
		memoryBudget().Give(1)
	}
}
