// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

// # The lock of the mappings
//
// Each read of memory takes mmap_lock. While a preempted thread holds it, the read waits, and with it the stopped
// thread. So the lock is watched in the first stops of each process of several threads, after a stop that waited, and
// if the length of stops is limited:
//
//   - The tracer reads a byte before the stop, to wait for the lock.
//   - Another thread of this process reads ([procmem.SyscallThreads]), in 5 µs more. If it is late, the thread is
//     detached without a sample ([errs.MapLock]). As it may get no CPU for 1 ms, passive reads use it only while a
//     stop is pending or after a wait.
//
// A wait is time without work: a slow machine takes longer for the same reads, and does not lose them.

const (
	firstWatched = 1 << 7                 // stops of a process of several threads
	watchedFor   = 1 << 10                // stops after a wait
	lockHeld     = 200 * time.Microsecond // a read of one byte with a longer wait has waited for the lock
	lockWait     = time.Millisecond       // longest wait for the lock in an observation
)

type lockedReads struct {
	ctl      *ptrace.Controller
	limit    *stopLimit
	threads  *procmem.SyscallThreads // nil means that the calling thread always reads
	onlyHeld bool                    // they read only after a wait for the lock
}

// LimitLockWait bounds the time that a stopped thread waits for mmap_lock while the lock is watched. raised means that
// the tracer has a raised priority; otherwise, on a busy host, the answer of another thread takes ms, and the lock is
// watched only after a wait for it.
func (o *Observer) LimitLockWait(raised bool) {
	o.reads.threads, o.reads.onlyHeld = procmem.NewSyscallThreads(), !raised
}

// begin returns false if no thread is idle to read.
func (r *lockedReads) begin(t *Thread, stopped bool) bool {
	m := t.Memory
	if m == nil || r.threads == nil {
		return true
	}
	if t.ID.TID != t.ID.PID && !r.onlyHeld {
		m.WatchMmapLockOnce(firstWatched)
	}
	threads := r.threads
	watched := m.WatchesMmapLock() || r.limit.limit > 0 && !r.onlyHeld
	if !watched || !stopped && r.ctl.Attached() == 0 && !m.MmapLockOftenHeld() {
		threads = nil
	}
	m.SetSyscallThreads(threads)
	return m.BeginReads(int64(lockWait))
}

// end returns false if a read was late: no byte read since begin may be used.
func (r *lockedReads) end(t *Thread) bool {
	m := t.Memory
	if m == nil || r.threads == nil {
		return true
	}
	if m.WaitedForLock() {
		m.WatchHeldMmapLock(watchedFor)
	}
	return !m.TimedOut()
}

func (t *Thread) watchMmapLock(c ptrace.Cause) {
	if c == ptrace.CauseLock && t.Memory != nil {
		t.Memory.WatchMmapLock(watchedFor)
	}
}

// awaitMmapLock reports whether the lock was found held; false also if it was not tried.
func (o *Observer) awaitMmapLock(t *Thread) bool {
	m := t.Memory
	if m == nil || o.mode != ModeAuto || t.IsKernelSampled() || !m.WatchesMmapLock() && o.limit.limit == 0 {
		return false
	}
	if time.Duration(m.AwaitMmapLock()) < lockHeld {
		return false
	}
	m.WatchHeldMmapLock(watchedFor)
	return true
}

func (o *Observer) readAgain(t *Thread, s *RawSample) (asleep bool, err error) {
	if _, err = t.readClocks(); err != nil {
		return false, err
	}
	o.preemption.ForgetWake()
	o.preemption.Woken(ptrace.Now())
	o.beginSample(t)
	return o.passive.read(t, s, t.clocks)
}
