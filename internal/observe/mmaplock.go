// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/ptrace"
)

// # The lock of the mappings
//
// Each read of memory takes mmap_lock. While a preempted thread holds it, the read waits, and with it the stopped
// thread. So, in the first stops of each process of several threads, after a stop that waited, and if the length of
// stops is limited:
//
//   - The tracer reads a byte before the stop: it waits for the lock while no thread is stopped.
//   - Another thread of this process reads ([procmem.SyscallThreads]), in 5 µs more. If a read is late, the stopped
//     thread is detached, and the sample is lost ([refusal.MapLock]).
//
// In a stop that is not watched a read waits for as long as the lock is held. After such a wait the next stops are
// watched.
//
// Passive reads use the other thread only while a stop is pending or after a wait: it may get no CPU for 1 ms.

const (
	firstWatched = 1 << 7  // stops of a process of several threads
	watchedFor   = 1 << 10 // stops after a wait for the lock
	lockHeld     = 200e3   // ns; a longer read of one byte has waited for the lock, not only for a CPU
	lockWait     = 1e6     // ns, longest wait for the lock in an observation
)

type mmapLock struct {
	ctl       *ptrace.Controller
	stopLimit *stopLimit
	threads   *procmem.SyscallThreads // nil if the calling thread reads
}

// LimitLockWait bounds the time that a stopped thread waits for mmap_lock while the lock is watched, see above.
func (lock *mmapLock) LimitLockWait() { lock.threads = procmem.NewSyscallThreads() }

func (lock *mmapLock) closeThreads() {
	if lock.threads != nil {
		lock.threads.Close()
	}
}

func (lock *mmapLock) beginReads(t *Thread, stopped bool) bool {
	m := t.Memory
	if m == nil || lock.threads == nil {
		return true
	}
	if t.TID != t.PID {
		m.WatchMmapLockOnce(firstWatched)
	}
	if lock.readsByThread(m, stopped) {
		m.SetSyscallThreads(lock.threads)
	} else {
		m.SetSyscallThreads(nil)
	}
	return m.BeginReads(lockWait)
}

func (lock *mmapLock) readsByThread(m *procmem.Memory, stopped bool) bool {
	watched := m.WatchesMmapLock() || lock.stopLimit.limit > 0
	return watched && (stopped || lock.ctl.Pending() > 0 || m.MmapLockOftenHeld())
}

// endReads returns false if a read was late: then no byte read since beginReads may be used.
func (lock *mmapLock) endReads(t *Thread) bool {
	m := t.Memory
	if m == nil || lock.threads == nil {
		return true
	}
	if m.WaitedForLock() {
		m.WatchHeldMmapLock(watchedFor)
	}
	return !m.TimedOut()
}

func (t *Thread) watchLock(c ptrace.Cause) {
	if c == ptrace.CauseLock && t.Memory != nil {
		t.Memory.WatchMmapLock(watchedFor)
	}
}

// waitForMappings reports whether the lock was held.
func (o *Observer) waitForMappings(t *Thread, s *RawSample) bool {
	s.LockWait = 0
	m := t.Memory
	if m == nil || o.mode != ModeAuto || t.UsesSamples() || !m.WatchesMmapLock() && o.stopLimit.limit == 0 {
		return false
	}
	took := m.AwaitMmapLock()
	if took < lockHeld {
		return false
	}
	m.WatchHeldMmapLock(watchedFor)
	s.LockWait = took
	return true
}

func (o *Observer) noteLostStop(t *Thread) error {
	t.base.valid = false
	t.lostStop, _ = t.stopTimes(&o.stop)
	t.lostStop = max(t.lostStop, 1)
	o.stopLimit.noteStop(t, t.lostStop)
	t.noteStopInCall(frames.Region{}, &o.stop) // what was copied is not used
	return refusal.MapLock
}

// TakeLostStop returns and resets the length of a stop without a sample ([refusal.MapLock]), in ns.
func (t *Thread) TakeLostStop() (ns int64) {
	ns, t.lostStop = t.lostStop, 0
	return ns
}

// readAgain repeats the passive read after a wait for the lock.
func (o *Observer) readAgain(t *Thread, s *RawSample) (asleep bool, err error) {
	if t.lastClocks, err = t.files.SchedStat(); err != nil {
		return false, err
	}
	o.ForgetWake()
	o.Woken(procmem.Now())
	t.skid.BeginSample(o.wake().At, t.lastClocks.Runs)
	return o.readPassively(t, s, t.lastClocks)
}
