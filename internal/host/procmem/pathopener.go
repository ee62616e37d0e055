// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// PathOpener opens paths of /proc on ordinary threads, for a real-time thread.
//
// A lookup in an ended process's directory drops its dentries, and repeats until other threads have freed theirs
// (fs/dcache.c, shrink_dcache_parent). A real-time thread that has pre-empted such a thread loops until throttled.
// Files in a held directory ([ThreadFiles.OpenDirIn]) need no PathOpener.
type PathOpener struct {
	tid     int
	thread  *syscallThread
	lookups int
}

var pathOpeners struct {
	change sync.Mutex
	all    atomic.Pointer[[]*PathOpener]
}

func setPathOpeners(change func([]*PathOpener) []*PathOpener) {
	pathOpeners.change.Lock()
	defer pathOpeners.change.Unlock()
	var next []*PathOpener
	if all := pathOpeners.all.Load(); all != nil {
		next = slices.Clone(*all)
	}
	if next = change(next); len(next) == 0 {
		pathOpeners.all.Store(nil)
		return
	}
	pathOpeners.all.Store(&next)
}

// NewPathOpener makes the calling OS thread's PathOpener; nil on error. Precondition: the goroutine is locked to its
// thread, and not pinned.
func NewPathOpener() *PathOpener {
	o := &PathOpener{tid: unix.Gettid(), thread: startSyscallThread()}
	if o.thread == nil {
		return nil
	}
	setNormalPolicy(o.thread.tid)
	setPathOpeners(func(all []*PathOpener) []*PathOpener { return append(all, o) })
	return o
}

func setNormalPolicy(tid int) {
	const soon = -10
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: soon, Runtime: minTimeSlice}
	if unix.SchedSetAttr(tid, &attr, 0) != nil {
		attr.Nice, attr.Runtime = 0, 0
		_ = unix.SchedSetAttr(tid, &attr, 0)
	}
}

// Close ends the PathOpener.
func (o *PathOpener) Close() {
	setPathOpeners(func(all []*PathOpener) []*PathOpener {
		return slices.DeleteFunc(all, func(other *PathOpener) bool { return other == o })
	})
	o.thread.start(unix.SYS_EXIT, [6]uintptr{})
}

func pathOpener(path []byte) *PathOpener {
	const of = "/proc/"
	all := pathOpeners.all.Load()
	if all == nil || len(path) <= len(of) || string(path[:len(of)]) != of || path[len(of)]-'0' > 9 {
		return nil
	}
	own := unix.Gettid()
	for _, w := range *all {
		if w.tid == own {
			return w
		}
	}
	return nil
}

const atCwd = ^uintptr(99)

func (o *PathOpener) lookUp(path []byte, nr uintptr, args func(path, at uintptr) [6]uintptr) (int, syscall.Errno) {
	if len(path) > maxPath+1 {
		return -1, syscall.ENAMETOOLONG
	}
	copy(o.thread.buf, path)
	o.lookups++
	CountCall()
	o.thread.start(nr, args(o.thread.bufAddr(), o.thread.bufAddr()+maxPath+1))
	o.thread.awaitLong()
	if got := o.thread.result(); got < 0 {
		return -1, syscall.Errno(-got)
	}
	return o.thread.result(), 0
}

func (o *PathOpener) open(path []byte, flags uintptr) (int, syscall.Errno) {
	return o.lookUp(path, unix.SYS_OPENAT, func(path, _ uintptr) [6]uintptr {
		return [6]uintptr{atCwd, path, flags | unix.O_CLOEXEC | unix.O_RDONLY}
	})
}

func (o *PathOpener) readlink(path, buf []byte) (int, syscall.Errno) {
	n, e := o.lookUp(path, unix.SYS_READLINKAT, func(path, at uintptr) [6]uintptr {
		return [6]uintptr{atCwd, path, at, uintptr(min(len(buf), threadBuf-maxPath-1))}
	})
	if e != 0 {
		return 0, e
	}
	return copy(buf, o.thread.buf[maxPath+1:maxPath+1+n]), 0
}

type pathBuf [64]byte

func (p *pathBuf) process(pid int, name string) []byte {
	b := p[:0]
	b = append(b, "/proc/"...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, '/')
	b = append(b, name...)
	return append(b, 0)
}

func (p *pathBuf) thread(pid, tid int, name string) []byte {
	b := p.process(pid, "task/")
	b = strconv.AppendInt(b[:len(b)-1], int64(tid), 10)
	b = append(b, '/')
	b = append(b, name...)
	return append(b, 0)
}
