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
//   - Another thread of this process reads ([procmem.Relays]), for 5 µs more. If a read is late, the thread is
//     released, and the sample lost ([refusal.MapLock]).
//
// That holds for the first stops of each process of several threads, after a stop that waited, and if the length of
// stops is limited. Passive reads use the other thread only while a stop is pending or after a wait: it may get no
// processor for 1 ms.

const (
	firstWatched = 1 << 7  // stops of a process of several threads
	watchedFor   = 1 << 13 // stops after a wait for the lock
	lockHeld     = 50e3    // ns: a longer read of one byte has waited
	lockWait     = 1e6     // ns per observation
)

// mapLock bounds the time of memory reads.
type mapLock struct {
	ctl    *ptrace.Controller
	pause  *pauseLimit
	relays *procmem.Relays // nil: the calling thread reads
}

// DetachInTime makes stops end without a sample if reads wait too long for mmap_lock.
func (k *mapLock) DetachInTime() { k.relays = procmem.NewRelays() }

func (k *mapLock) closeRelays() {
	if k.relays != nil {
		k.relays.Close()
	}
}

// beginReads begins the reads of an observation. False: the memory cannot be read now.
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

// endReads ends the reads. False: one was late, and all are void.
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

func (t *Thread) watchLock(c ptrace.Cause) {
	if c == ptrace.CauseLock && t.Memory != nil {
		t.Memory.Watch(watchedFor)
	}
}

// awaitsMappings waits until the lock is free, if it is often held, and reports whether it was held.
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

func (l *Observer) noteLostStop(t *Thread) error {
	t.base.valid = false
	t.lostStop, _ = t.stopped(&l.stop)
	t.lostStop = max(t.lostStop, 1)
	l.pause.stopped(t, t.lostStop)
	return refusal.MapLock
}

// TakeLostStop gives, once, how long a thread was stopped without a sample ([refusal.MapLock]), in ns; 0: it was not.
func (t *Thread) TakeLostStop() (ns int64) {
	ns, t.lostStop = t.lostStop, 0
	return ns
}

// readAgain restarts the observation after the tracer has slept: that wake-up was not by its timer.
func (l *Observer) readAgain(t *Thread, s *RawSample) (asleep bool, err error) {
	if t.before, err = t.files.SchedStat(); err != nil {
		return false, err
	}
	l.Awake()
	l.Woken(procmem.Now())
	t.skid.BeginSample(l.wake().At, t.before.Runs)
	return l.readPassively(t, s, t.before)
}
