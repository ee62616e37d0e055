// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// # Reads by another thread
//
// A read of another process's memory takes the lock of its mappings (mm/memory.c, __access_remote_vm:
// mmap_read_lock_killable), whose holder may wait for a CPU. Only SIGKILL ends the wait. Where the lock is often held,
// another thread reads; the tracer waits as long as a stop may last.
//
// A wait is the time in which neither thread had a CPU. Their CPU time is work, for which a slow machine takes longer:
// in an emulated one on a busy host, up to a quarter of the reads of a free lock would count as waits. Measuring takes
// two system calls for each read. So it begins after a slow read, all of whose time counts, and ends after thousands of
// reads without one.

// SyscallThreads are threads that read for one tracer.
type SyscallThreads struct {
	all [maxSyscallThreads]*syscallThread
	n   int
}

const maxSyscallThreads = 4

// NewSyscallThreads starts the threads. Precondition: the goroutine is locked to its OS thread, and not pinned.
func NewSyscallThreads() *SyscallThreads {
	ts := &SyscallThreads{}
	for ts.n < len(ts.all) {
		t := startSyscallThread()
		if t == nil {
			break
		}
		t.prioritize()
		ts.all[ts.n] = t
		ts.n++
	}
	return ts
}

func (ts *SyscallThreads) idle() *syscallThread {
	for _, t := range ts.all[:ts.n] {
		if t.idle() {
			return t
		}
	}
	return nil
}

// Close ends each thread after its current call.
func (ts *SyscallThreads) Close() {
	for _, t := range ts.all[:ts.n] {
		t.start(unix.SYS_EXIT, [6]uintptr{})
	}
	ts.n = 0
}

// BlockIdle blocks idle threads in reads of fd, and returns their number. For tests, also of package observe.
func (ts *SyscallThreads) BlockIdle(fd int) (n int) {
	for t := ts.idle(); t != nil; t = ts.idle() {
		t.start(unix.SYS_READ, [6]uintptr{uintptr(fd), t.bufAddr(), 1})
		n++
	}
	return n
}

type threadReads struct {
	threads       *SyscallThreads // nil if the calling thread reads
	thread        *syscallThread
	callPending   bool  // the last call was late, and may be pending
	waitLeft      int64 // ns that reads may still wait in this observation
	deadline      int64 // deadline of the reads, CLOCK_MONOTONIC ns; 0: none
	timedOut      bool
	waitedForLock bool
	measured      int   // reads whose CPU time is still to be measured
	waited        int64 // of the last read, ns: all of its time, unless that was measured
}

// maxUncontendedRead, ns: a read with a longer wait has waited for the lock. Usual reads take 5 to 30 µs.
const maxUncontendedRead = 200e3

const measuredAfterSlow = 1 << 12 // reads

// cpu returns the CPU time of the calling and the reading thread in ns, 0 while it is not measured.
func (r *threadReads) cpu() (ns int64) {
	if r.measured > 0 {
		ns = int64(ThreadCPU())
		if r.thread != nil {
			ns += r.thread.cpuTime()
		}
	}
	return ns
}

// SetSyscallThreads sets the threads that read. If it is nil, the calling thread reads, once no call is pending.
func (m *Memory) SetSyscallThreads(threads *SyscallThreads) {
	r := &m.threadReads
	if threads != r.threads && !(threads == nil && m.callPending()) {
		r.threads, r.thread, r.callPending, r.timedOut = threads, nil, false, false
	}
}

// callPending reports whether a late call is still pending.
func (m *Memory) callPending() bool {
	r := &m.threadReads
	r.callPending = r.callPending && !r.thread.idle()
	return r.callPending
}

//go:nosplit
func (m *Memory) reader() *threadReads {
	if m.threadReads.threads == nil {
		return nil
	}
	return &m.threadReads
}

// UsesSyscallThreads reports whether other threads read.
func (m *Memory) UsesSyscallThreads() bool { return m.threadReads.threads != nil }

// BeginReads begins an observation whose reads may wait for ns in total; false if no thread is idle.
func (m *Memory) BeginReads(ns int64) bool {
	r := &m.threadReads
	r.waitLeft, r.deadline, r.timedOut, r.waitedForLock = ns, 0, false, false
	switch {
	case r.threads == nil:
		return true
	case m.callPending():
		r.timedOut = true
		return false
	case r.thread != nil && r.thread.idle():
	case r.threads.n == 0: // none could be started: the calling thread reads
		r.threads, r.thread = nil, nil
		return true
	default:
		if r.thread = r.threads.idle(); r.thread == nil {
			r.timedOut = true
			return false
		}
	}
	r.thread.follow(CPU())
	return true
}

// SetDeadline sets the deadline of this observation's reads (CLOCK_MONOTONIC, ns; 0: none).
//
//go:nosplit
func (m *Memory) SetDeadline(at int64) { m.threadReads.deadline = at }

// TimedOut reports whether a read was late, which voids all of this observation.
func (m *Memory) TimedOut() bool { return m.threadReads.timedOut }

// WaitedForLock reports whether a read waited for the lock.
func (m *Memory) WaitedForLock() bool { return m.threadReads.waitedForLock }

// call makes a system call in the other thread. It returns false if its result is late. Precondition: none was late.
func (r *threadReads) call(nr uintptr, args [6]uintptr) (int, bool) {
	worked, began := r.cpu(), Now()
	left := r.waitLeft
	if r.deadline != 0 {
		left = min(left, r.deadline-began)
	}
	if left <= 0 {
		r.timedOut = true
		return 0, false
	}
	r.thread.start(nr, args)
	for next := left; !r.thread.await(next); {
		now := Now()
		r.waited = now - began - (r.cpu() - worked)
		late := r.deadline != 0 && now >= r.deadline
		if next = left - r.waited; r.deadline != 0 {
			next = min(next, r.deadline-now)
		}
		if late || r.waited >= left {
			r.callPending, r.timedOut, r.waitedForLock = true, true, true
			r.measured = measuredAfterSlow
			return 0, false
		}
	}
	if r.endRead(began, worked); r.waited > maxUncontendedRead {
		r.waitLeft -= r.waited - maxUncontendedRead
		r.waitedForLock = true
	}
	return r.thread.result(), true
}

// endRead sets how long a read that has ended has waited, and counts it.
func (r *threadReads) endRead(began, worked int64) {
	if r.waited = Now() - began; r.waited <= maxUncontendedRead {
		r.measured = max(r.measured-1, 0)
		return
	}
	r.waited -= r.cpu() - worked
	r.measured = measuredAfterSlow
}

func (r *threadReads) pread(fd int, buf []byte, off uint64) (done int) {
	for done < len(buf) {
		n := min(len(buf)-done, threadBuf)
		if r.timedOut {
			return -int(syscall.EAGAIN)
		}
		CountCall()
		at := uintptr(off) + uintptr(done)
		got, ok := r.call(unix.SYS_PREAD64, [6]uintptr{uintptr(fd), r.thread.bufAddr(), uintptr(n), at})
		switch {
		case !ok:
			got = -int(syscall.EAGAIN)
		case got > 0:
			copy(buf[done:], r.thread.buf[:got])
		}
		if got <= 0 && done == 0 {
			return got
		}
		if done += max(got, 0); got < n {
			break
		}
	}
	return done
}

func (r *threadReads) vmRead(tid int, addr uint64, buf []byte) (done int) {
	for done < len(buf) {
		n := min(len(buf)-done, threadBuf)
		if r.timedOut {
			break
		}
		local, remote := r.thread.vectors(addr+uint64(done), n)
		CountCall()
		got, ok := r.call(unix.SYS_PROCESS_VM_READV, [6]uintptr{uintptr(tid), local, 1, remote, 1})
		if !ok || got <= 0 {
			break
		}
		CountCopied(copy(buf[done:], r.thread.buf[:got]))
		if done += got; got < n {
			break
		}
	}
	return done
}

func (r *threadReads) query(fd int, q *mapQuery) syscall.Errno {
	if r.timedOut {
		return syscall.EAGAIN
	}
	in := r.thread.query()
	*in = *q
	CountCall()
	got, ok := r.call(unix.SYS_IOCTL, [6]uintptr{uintptr(fd), procmapQuery, r.thread.bufAddr()})
	if !ok {
		return syscall.EAGAIN
	}
	if *q = *in; got < 0 {
		return syscall.Errno(-got)
	}
	return 0
}
