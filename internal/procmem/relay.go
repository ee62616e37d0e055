// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// # Reads that another thread makes
//
// Each read of another process's memory takes the lock of its mappings (kernel mm/memory.c, __access_remote_vm:
// mmap_read_lock_killable). A thread that changes mappings holds it, also while it waits for a processor. No signal
// but SIGKILL ends the wait for it, and no call of the kernel tells whether it is free. So where that lock is held
// often, another thread of this process makes these reads. The tracer's waits for that thread as long as a stop may
// last, and then lets the target's thread go. What is read too late is thrown away.

// Relays are the threads that read for one tracer. They belong to its OS thread.
type Relays struct {
	all [mostRelays]*relayThread
	n   int
}

// mostRelays is how many processes can be waited for at once.
const mostRelays = 4

// NewRelays makes them. Precondition: the goroutine is locked to its OS thread and not pinned.
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

// idle gives a thread that has nothing to do, nil if there is none.
func (r *Relays) idle() *relayThread {
	for _, t := range r.all[:r.n] {
		if t.idle() {
			return t
		}
	}
	return nil
}

// Close ends the threads: one that still waits ends when its read has come back.
func (r *Relays) Close() {
	for _, t := range r.all[:r.n] {
		t.ask(unix.SYS_EXIT, [6]uintptr{})
	}
	r.n = 0
}

// Hold keeps all threads from reading until as many bytes can be read from a descriptor as their number is, which it
// gives. It is for tests of what happens when reads do not come back.
func (r *Relays) Hold(fd int) (n int) {
	for t := r.idle(); t != nil; t = r.idle() {
		t.ask(unix.SYS_READ, [6]uintptr{uintptr(fd), t.at(), 1})
		n++
	}
	return n
}

// relayed is how a process's memory is read by another thread.
type relayed struct {
	relays *Relays      // nil: the calling thread reads
	by     *relayThread // that reads for the look under way
	stuck  bool         // what it was asked for has not come yet
	left   int64        // for how long the look under way may wait, ns
	until  int64        // when it ends at the latest, CLOCK_MONOTONIC ns; 0: left alone counts
	late   bool         // a read of it has not come in time
	waited bool         // or only after a while
	stops  int          // see Watch
	begun  bool         // WatchFirst was called
	held   bool         // a read has waited for the lock: see WatchHeld
}

// usualRead is how long a read takes that waits for no lock, at most, in nanoseconds: that is not counted as a wait.
const usualRead = 50e3

// Watch has the lock of the process's mappings watched in the next n stops, or more if that was said before.
func (m *Memory) Watch(n int) { m.relayed.stops = max(m.relayed.stops, n) }

// WatchHeld is Watch after a read that has waited for the lock.
func (m *Memory) WatchHeld(n int) {
	m.relayed.held = true
	m.Watch(n)
}

// WatchFirst is Watch when it is called first: it is not known how often the lock is held.
func (m *Memory) WatchFirst(n int) {
	if !m.relayed.begun {
		m.relayed.begun = true
		m.Watch(n)
	}
}

// Stopped counts one of these stops.
func (m *Memory) Stopped() {
	if m.relayed.stops = max(m.relayed.stops-1, 0); m.relayed.stops == 0 {
		m.relayed.held = false
	}
}

// Watched reports whether the lock is to be watched.
func (m *Memory) Watched() bool { return m.relayed.stops > 0 }

// OftenHeld reports whether the lock is watched because a read has waited for it.
func (m *Memory) OftenHeld() bool { return m.relayed.held }

// Relay has the methods that look read by other threads from now on; nil: by the calling one again, unless a read has
// not come back yet.
func (m *Memory) Relay(r *Relays) {
	if r != m.relayed.relays && !(r == nil && m.Stuck()) {
		m.relayed.relays, m.relayed.by, m.relayed.stuck, m.relayed.late = r, nil, false, false
	}
}

// Stuck reports whether a read has not come back yet.
func (m *Memory) Stuck() bool {
	m.relayed.stuck = m.relayed.stuck && !m.relayed.by.idle()
	return m.relayed.stuck
}

// by gives what reads for a look; nil: the calling thread itself.
//
//go:nosplit
func (m *Memory) by() *relayed {
	if m.relayed.relays == nil {
		return nil
	}
	return &m.relayed
}

// Relayed reports whether another thread reads.
func (m *Memory) Relayed() bool { return m.relayed.relays != nil }

// Within begins a look whose reads may wait for so many nanoseconds in all, if another thread makes them. It is false
// if it cannot read anything: a read of an earlier look has not come back, or all other threads wait.
func (m *Memory) Within(ns int64) bool {
	r := &m.relayed
	if r.left, r.until, r.late, r.waited = ns, 0, false, false; r.relays == nil {
		return true
	}
	if r.late = m.Stuck(); !r.late && (r.by == nil || !r.by.idle()) {
		r.by = r.relays.idle()
		if r.late = r.by == nil; r.late && r.relays.n == 0 {
			r.relays, r.late = nil, false
			return true
		}
	}
	if !r.late {
		r.by.follow(CPU())
	}
	return !r.late
}

// Until sets when the reads of the look under way end at the latest (CLOCK_MONOTONIC, ns); 0: as [Memory.Within] says.
//
//go:nosplit
func (m *Memory) Until(at int64) { m.relayed.until = at }

// Late reports whether a read of the look under way has not come in time. What that look has is worth nothing.
func (m *Memory) Late() bool { return m.relayed.late }

// Waited reports whether one took so long that it has waited.
func (m *Memory) Waited() bool { return m.relayed.waited }

// do has a call made, and waits for it. False: it is late.
func (r *relayed) do(nr uintptr, args [6]uintptr) (int, bool) {
	if r.late || r.by == nil {
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
	r.by.ask(nr, args)
	if !r.by.await(left) {
		r.stuck, r.late, r.waited = true, true, true
		return 0, false
	}
	if waited := Now() - began - usualRead; waited > 0 {
		r.left -= waited
		r.waited = true
	}
	return r.by.result(), true
}

// pread is preadMem.
func (r *relayed) pread(fd int, buf []byte, off uint64) (done int) {
	for done < len(buf) {
		n := min(len(buf)-done, relayBytes)
		if r.late {
			return -int(syscall.EAGAIN)
		}
		CountCall()
		got, ok := r.do(unix.SYS_PREAD64, [6]uintptr{uintptr(fd), r.by.at(), uintptr(n), uintptr(off) + uintptr(done)})
		switch {
		case !ok:
			got = -int(syscall.EAGAIN)
		case got > 0:
			copy(buf[done:], r.by.buf[:got])
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

// vmRead is vmReadAll.
func (r *relayed) vmRead(tid int, addr uint64, buf []byte) (done int) {
	for done < len(buf) {
		n := min(len(buf)-done, relayBytes)
		if r.late {
			break
		}
		local, remote := r.by.vectors(addr+uint64(done), n)
		CountCall()
		got, ok := r.do(unix.SYS_PROCESS_VM_READV, [6]uintptr{uintptr(tid), local, 1, remote, 1})
		if !ok || got <= 0 {
			break
		}
		CountCopied(copy(buf[done:], r.by.buf[:got]))
		if done += got; got < n {
			break
		}
	}
	return done
}

// query asks about a mapping.
func (r *relayed) query(fd int, q *mapQuery) syscall.Errno {
	if r.late {
		return syscall.EAGAIN
	}
	in := r.by.query()
	*in = *q
	CountCall()
	got, ok := r.do(unix.SYS_IOCTL, [6]uintptr{uintptr(fd), procmapQuery, r.by.at()})
	if !ok {
		return syscall.EAGAIN
	}
	if *q = *in; got < 0 {
		return syscall.Errno(-got)
	}
	return 0
}
