// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// # Reads by another thread
//
// A read of another process's memory takes the lock of its mappings (mm/memory.c, __access_remote_vm:
// mmap_read_lock_killable), whose holder may wait for a CPU. Only SIGKILL ends the wait, and no system call tests the
// lock. Where it is often held, another thread reads; the tracer waits as long as a stop may last.

// Relays are threads that read for one tracer.
type Relays struct {
	all [mostRelays]*relayThread
	n   int
}

const mostRelays = 4

// NewRelays starts the threads. Precondition: the goroutine is locked to its OS thread, and not pinned.
func NewRelays() *Relays {
	r := &Relays{}
	for r.n < len(r.all) {
		t := startRelay()
		if t == nil {
			break
		}
		t.prioritize()
		r.all[r.n] = t
		r.n++
	}
	return r
}

func (r *Relays) idle() *relayThread {
	for _, t := range r.all[:r.n] {
		if t.idle() {
			return t
		}
	}
	return nil
}

// Close ends each thread after its current call.
func (r *Relays) Close() {
	for _, t := range r.all[:r.n] {
		t.ask(unix.SYS_EXIT, [6]uintptr{})
	}
	r.n = 0
}

// Hold blocks each idle thread in a read of a byte of fd, and returns their number. For tests.
func (r *Relays) Hold(fd int) (n int) {
	for t := r.idle(); t != nil; t = r.idle() {
		t.ask(unix.SYS_READ, [6]uintptr{uintptr(fd), t.at(), 1})
		n++
	}
	return n
}

// relayed is the state of the reads of one Memory by relays.
type relayed struct {
	relays *Relays      // nil: the calling thread reads
	thread *relayThread // the thread that reads
	stuck  bool         // the last call was late, and may be pending
	left   int64        // ns that reads may still wait in this observation
	until  int64        // deadline of the reads, CLOCK_MONOTONIC ns; 0: none
	late   bool
	waited bool
	stops  int // stops for which the lock is still watched
	begun  bool
	held   bool
}

// usualRead, ns: a longer read has waited for the lock. It takes 5 µs, 30 µs on a virtual machine, more on a busy CPU.
const usualRead = 200e3

// Watch watches the lock of the mappings for at least n more stops.
func (m *Memory) Watch(n int) { m.relayed.stops = max(m.relayed.stops, n) }

// WatchHeld is Watch after the lock was found held.
func (m *Memory) WatchHeld(n int) {
	m.relayed.held = true
	m.Watch(n)
}

// WatchFirst is Watch at its first call; later calls do nothing.
func (m *Memory) WatchFirst(n int) {
	if !m.relayed.begun {
		m.relayed.begun = true
		m.Watch(n)
	}
}

// Stopped counts a stop for Watch.
func (m *Memory) Stopped() {
	if m.relayed.stops = max(m.relayed.stops-1, 0); m.relayed.stops == 0 {
		m.relayed.held = false
	}
}

// Watched reports whether the lock is watched.
func (m *Memory) Watched() bool { return m.relayed.stops > 0 }

// OftenHeld reports whether WatchHeld is in effect.
func (m *Memory) OftenHeld() bool { return m.relayed.held }

// Relay sets the threads that read for one goroutine. nil: the calling thread reads, once no call is pending.
func (m *Memory) Relay(r *Relays) {
	if r != m.relayed.relays && !(r == nil && m.Stuck()) {
		m.relayed.relays, m.relayed.thread, m.relayed.stuck, m.relayed.late = r, nil, false, false
	}
}

// Stuck reports whether a late call is still pending.
func (m *Memory) Stuck() bool {
	m.relayed.stuck = m.relayed.stuck && !m.relayed.thread.idle()
	return m.relayed.stuck
}

//go:nosplit
func (m *Memory) by() *relayed {
	if m.relayed.relays == nil {
		return nil
	}
	return &m.relayed
}

// Relayed reports whether other threads read ([Memory.Relay]).
func (m *Memory) Relayed() bool { return m.relayed.relays != nil }

// Within begins an observation whose reads may wait for ns in total. It returns false if no thread is idle.
func (m *Memory) Within(ns int64) bool {
	r := &m.relayed
	if r.left, r.until, r.late, r.waited = ns, 0, false, false; r.relays == nil {
		return true
	}
	if r.late = m.Stuck(); !r.late && (r.thread == nil || !r.thread.idle()) {
		r.thread = r.relays.idle()
		if r.late = r.thread == nil; r.late && r.relays.n == 0 {
			r.relays, r.late = nil, false
			return true
		}
	}
	if !r.late {
		r.thread.follow(CPU())
	}
	return !r.late
}

// Until sets the deadline of this observation's reads (CLOCK_MONOTONIC, ns; 0: none).
//
//go:nosplit
func (m *Memory) Until(at int64) { m.relayed.until = at }

// Late reports whether a read of this observation was late, which voids all its reads.
func (m *Memory) Late() bool { return m.relayed.late }

// Waited reports whether a read of this observation waited for the lock.
func (m *Memory) Waited() bool { return m.relayed.waited }

// do makes a system call in the relay thread, and returns its result. It returns false if that is late.
func (r *relayed) do(nr uintptr, args [6]uintptr) (int, bool) {
	if r.late || r.thread == nil {
		return 0, false
	}
	began := Now()
	left := r.left
	if r.until != 0 {
		left = min(left, r.until-began)
	}
	if left <= 0 {
		r.late = true
		return 0, false
	}
	r.thread.ask(nr, args)
	if !r.thread.await(left) {
		r.stuck, r.late, r.waited = true, true, true
		return 0, false
	}
	if waited := Now() - began - usualRead; waited > 0 {
		r.left -= waited
		r.waited = true
	}
	return r.thread.result(), true
}

func (r *relayed) pread(fd int, buf []byte, off uint64) (done int) {
	for done < len(buf) {
		n := min(len(buf)-done, relayBytes)
		if r.late {
			return -int(syscall.EAGAIN)
		}
		CountCall()
		got, ok := r.do(unix.SYS_PREAD64, [6]uintptr{uintptr(fd), r.thread.at(), uintptr(n), uintptr(off) + uintptr(done)})
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

func (r *relayed) vmRead(tid int, addr uint64, buf []byte) (done int) {
	for done < len(buf) {
		n := min(len(buf)-done, relayBytes)
		if r.late {
			break
		}
		local, remote := r.thread.vectors(addr+uint64(done), n)
		CountCall()
		got, ok := r.do(unix.SYS_PROCESS_VM_READV, [6]uintptr{uintptr(tid), local, 1, remote, 1})
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

func (r *relayed) query(fd int, q *mapQuery) syscall.Errno {
	if r.late {
		return syscall.EAGAIN
	}
	in := r.thread.query()
	*in = *q
	CountCall()
	got, ok := r.do(unix.SYS_IOCTL, [6]uintptr{uintptr(fd), procmapQuery, r.thread.at()})
	if !ok {
		return syscall.EAGAIN
	}
	if *q = *in; got < 0 {
		return syscall.Errno(-got)
	}
	return 0
}
