// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Walker opens paths of /proc on threads without a real-time priority, for a thread with a real-time priority.
//
// A path lookup that finds the directory of a process that has ended removes the directory's entries from the kernel's
// cache. If another thread is about to free some of these, as the ending process itself does, the lookup repeats until
// that thread is done (fs/dcache.c, shrink_dcache_parent). A thread with a real-time priority that has preempted the
// other one on the same processor repeats it for ever: until the kernel's real-time throttling ends it, one second
// later.
//
// So open and Readlink of this package have the Walker make the call where the calling thread has one. The opening of a
// file relative to a directory that is held ([ThreadFiles.Hold]) needs none: the file has no entries below it.
type Walker struct {
	tid   int
	todo  chan *Walk
	paths *relayThread // makes single calls: neither the Go scheduler nor a garbage collection holds it up
	walks int          // how many it has made
}

// Walk is one order for a Walker.
type Walk struct {
	do   func()
	done atomic.Bool
}

// Done reports whether it is done: what it has written may be read.
func (o *Walk) Done() bool { return o.done.Load() }

// walkers are those of the threads that have one. A list that is in place is not written any more: a thread that looks
// for its own must not wait.
var walkers struct {
	change sync.Mutex
	all    atomic.Pointer[[]*Walker]
}

// setWalkers replaces the list.
func setWalkers(change func([]*Walker) []*Walker) {
	walkers.change.Lock()
	defer walkers.change.Unlock()
	var next []*Walker
	if all := walkers.all.Load(); all != nil {
		next = slices.Clone(*all)
	}
	if next = change(next); len(next) == 0 {
		walkers.all.Store(nil)
		return
	}
	walkers.all.Store(&next)
}

// NewWalker gives the calling OS thread a Walker, until [Walker.Close]; nil if no thread can be made. Precondition: the
// goroutine is locked to it, and not pinned.
func NewWalker() *Walker {
	w := &Walker{tid: unix.Gettid(), todo: make(chan *Walk, 4), paths: startRelay()}
	if w.paths == nil {
		return nil
	}
	ordinary(w.paths.tid)
	setWalkers(func(all []*Walker) []*Walker { return append(all, w) })
	go w.walkAll()
	return w
}

// walkAll calls the functions of [Walker.Start], on a thread that ends with it.
func (w *Walker) walkAll() {
	runtime.LockOSThread()
	ordinary(0)
	for o := range w.todo {
		o.do()
		o.done.Store(true)
	}
}

// ordinary gives a thread no real-time priority, but one by which it soon has a processor on a busy machine. That is
// no priority over a process that ends: the kernel's fair scheduler has both run, whichever waits.
func ordinary(tid int) {
	const soon = -10 // a nice value
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: soon, Runtime: shortSlice}
	if unix.SchedSetAttr(tid, &attr, 0) != nil {
		attr.Nice, attr.Runtime = 0, 0
		_ = unix.SchedSetAttr(tid, &attr, 0)
	}
}

// Close ends the Walker. Its thread makes the calls itself from then on.
func (w *Walker) Close() {
	setWalkers(func(all []*Walker) []*Walker {
		return slices.DeleteFunc(all, func(other *Walker) bool { return other == w })
	})
	close(w.todo)
	w.paths.ask(unix.SYS_EXIT, [6]uintptr{})
}

// Start has f called on a thread without a real-time priority, after what was started before.
func (w *Walker) Start(f func()) *Walk {
	o := &Walk{do: f}
	w.todo <- o
	return o
}

// walker gives the Walker of the calling thread, nil if it has none, or if the path is not a process's.
func walker(path []byte) *Walker {
	const of = "/proc/"
	all := walkers.all.Load()
	if all == nil || len(path) <= len(of) || string(path[:len(of)]) != of || digit(path[len(of)]) > 9 {
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

// atCwd is AT_FDCWD.
const atCwd = ^uintptr(99)

// walk has a call made that walks a path: the buffer of the thread that makes it has the path, and from at on what the
// call gives.
func (w *Walker) walk(path []byte, nr uintptr, args func(path, at uintptr) [6]uintptr) (int, syscall.Errno) {
	if len(path) > longestPath+1 {
		return -1, syscall.ENAMETOOLONG
	}
	copy(w.paths.buf, path)
	w.walks++
	CountCall()
	w.paths.ask(nr, args(w.paths.at(), w.paths.at()+longestPath+1))
	for !w.paths.await(math.MaxInt64 / 2) {
	}
	if got := w.paths.result(); got < 0 {
		return -1, syscall.Errno(-got)
	}
	return w.paths.result(), 0
}

// open is openAt of a path, which ends in NUL.
func (w *Walker) open(path []byte, flags uintptr) (int, syscall.Errno) {
	return w.walk(path, unix.SYS_OPENAT, func(path, _ uintptr) [6]uintptr {
		return [6]uintptr{atCwd, path, flags | unix.O_CLOEXEC | unix.O_RDONLY}
	})
}

// readlink reads a link into buf, at most as much as there is room for here.
func (w *Walker) readlink(path, buf []byte) (int, syscall.Errno) {
	n, e := w.walk(path, unix.SYS_READLINKAT, func(path, at uintptr) [6]uintptr {
		return [6]uintptr{atCwd, path, at, uintptr(min(len(buf), relayBytes-longestPath-1))}
	})
	if e != 0 {
		return 0, e
	}
	return copy(buf, w.paths.buf[longestPath+1:longestPath+1+n]), 0
}
