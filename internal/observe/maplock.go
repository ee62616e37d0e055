// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/ptrace"
)

// # The lock of the mappings
//
// Each read of a process's memory takes mmap_lock, which cannot be queried. A thread may be preempted with it: then a
// read waits, and with it the stopped thread. Where the lock is often held:
//
//   - A byte is read before the stop, which waits for the lock while no thread is stopped.
//   - Another thread of this process reads ([procmem.Relays]), which takes 5 µs more. If a read is late, the stopped
//     thread is detached, and the sample is lost ([refusal.MapLock]).
//
// This is done in the first stops of each process of several threads, after a stop that waited, and if the length of
// stops is limited. Passive reads use the other thread only while a stop is pending or after a wait, as it may get no
// processor for 1 ms.

const (
	firstWatched = 1 << 7  // stops of a process of several threads
	watchedFor   = 1 << 13 // stops after a wait for the lock
	lockHeld     = 50e3    // ns; a longer read of one byte has waited for the lock
	lockWait     = 1e6     // ns, most wait for the lock in an observation
)

// mapLock bounds the time that reads of memory wait for the lock.
type mapLock struct {
	ctl    *ptrace.Controller
	pause  *pauseLimit
	relays *procmem.Relays // nil if the calling thread reads
}

// DetachInTime makes stops end without a sample if reads wait too long for mmap_lock.
func (k *mapLock) DetachInTime() { k.relays = procmem.NewRelays() }

func (k *mapLock) closeRelays() {
	if k.relays != nil {
		k.relays.Close()
	}
}

// beginReads begins the reads of an observation, and reports whether the memory can be read now. stopped is set if the
// thread is stopped.
func (k *mapLock) beginReads(t *Thread, stopped bool) bool {
	m := t.Memory
	if m == nil || k.relays == nil {
		return true
	}
	if t.TID != t.PID {
		m.WatchFirst(firstWatched)
	}
	if k.readElsewhere(m, stopped) {
		m.Relay(k.relays)
	} else {
		m.Relay(nil)
	}
	return m.Within(lockWait)
}

func (k *mapLock) readElsewhere(m *procmem.Memory, stopped bool) bool {
	watched := m.Watched() || k.pause.limit > 0
	return watched && (stopped || k.ctl.Pending() > 0 || m.OftenHeld())
}

// endReads ends the reads. False means that one was late: all are void.
func (k *mapLock) endReads(t *Thread) bool {
	m := t.Memory
	if m == nil || k.relays == nil {
		return true
	}
	if m.Waited() {
		m.WatchHeld(watchedFor)
	}
	return !m.Late()
}

// watchLock makes the next stops of the process read in time, after one that waited for the lock.
func (t *Thread) watchLock(c ptrace.Cause) {
	if c == ptrace.CauseLock && t.Memory != nil {
		t.Memory.Watch(watchedFor)
	}
}

// awaitsMappings waits for the lock before a stop, if it is often held, and reports whether it was held.
func (l *Observer) awaitsMappings(t *Thread, s *RawSample) bool {
	s.Awaited = 0
	m := t.Memory
	if m == nil || l.mode != ModeAuto || t.Sampled() || !m.Watched() && l.pause.limit == 0 {
		return false
	}
	took := m.AwaitMappings()
	if took < lockHeld {
		return false
	}
	m.WatchHeld(watchedFor)
	s.Awaited = took
	return true
}

// noteLostStop notes a stop whose sample is lost, as a read was late.
func (l *Observer) noteLostStop(t *Thread) error {
	t.base.valid = false
	t.lostStop, _ = t.stopped(&l.stop)
	t.lostStop = max(t.lostStop, 1)
	l.pause.stopped(t, t.lostStop)
	return refusal.MapLock
}

// TakeLostStop gives, once, how long a thread was stopped without a sample ([refusal.MapLock]), in ns; 0 if it
// was not.
func (t *Thread) TakeLostStop() (ns int64) {
	ns, t.lostStop = t.lostStop, 0
	return ns
}

// readAgain reads a thread passively once more after the tracer has slept for the lock. Its wake-up was not by its
// timer.
func (l *Observer) readAgain(t *Thread, s *RawSample) (asleep bool, err error) {
	if t.before, err = t.files.SchedStat(); err != nil {
		return false, err
	}
	l.Awake()
	l.Woken(procmem.Now())
	t.skid.BeginSample(l.wake().At, t.before.Runs)
	return l.readPassively(t, s, t.before)
}
