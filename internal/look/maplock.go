// SPDX-License-Identifier: Apache-2.0

package look

import (
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/ptrace"
)

// # The lock of the mappings
//
// Each read of a process's memory takes the lock of its mappings. A thread that changes mappings holds it, and may wait
// for a processor meanwhile. A read that is made then waits as long, and with it the thread that was stopped. No call
// of the kernel tells whether the lock is free. Two things are done about it where the lock is held often:
//
//   - A byte is read before the stop. That waits for the lock while no thread is stopped. It is rarely held again some
//     thirty microseconds later, when the copy is made; in a server that maps and unmaps all the time it often is.
//   - Another thread of this process makes the reads ([procmem.Relays]). If one does not come in time, the stopped
//     thread is let go, and the sample is lost ([refusal.MapLock]).
//
// A read by another thread takes some 5 µs longer. So the first freezes of each process of several threads are made so,
// those after a freeze that waited for something, and all where the length of a pause is limited.
//
// Passive reads are the calling thread's own, unless a thread was asked to stop, or a read has waited for the lock
// lately: on a busy machine the other thread may get no processor for 1 ms, and the sample would be lost for nothing.

const (
	firstWatched = 1 << 7  // freezes of a process of several threads
	watchedFor   = 1 << 13 // freezes after a wait for the lock
	lockHeld     = 50e3    // ns: a read of one byte that takes longer has waited
	lockWait     = 1e6     // ns that a look may wait for the lock in all
)

// LetGoInTime has the looker let a stopped thread go that waits for the lock of its process's mappings for too long.
func (l *Looker) LetGoInTime() { l.relays = procmem.NewRelays() }

// readsInTime begins the reads of a stop, or those before it. It is false if the process's memory cannot be read now.
func (l *Looker) readsInTime(t *Thread, stopped bool) bool {
	m := t.Memory
	if m == nil || l.relays == nil {
		return true
	}
	if t.TID != t.PID {
		m.WatchFirst(firstWatched)
	}
	if l.readElsewhere(m, stopped) {
		m.Relay(l.relays)
	} else {
		m.Relay(nil)
	}
	return m.Within(lockWait)
}

// readElsewhere reports whether another thread is to read.
func (l *Looker) readElsewhere(m *procmem.Memory, stopped bool) bool {
	watched := m.Watched() || l.pause.limit > 0
	return watched && (stopped || l.ctl.Pending() > 0 || m.OftenHeld())
}

// readInTime ends them: false if a read has not come in time. What was read is worth nothing then.
func (l *Looker) readInTime(t *Thread) bool {
	m := t.Memory
	if m == nil || l.relays == nil {
		return true
	}
	if m.Waited() {
		m.WatchHeld(watchedFor)
	}
	return !m.Late()
}

// heldUp takes note of why a freeze was long.
func (t *Thread) heldUp(c ptrace.Cause) {
	if c == ptrace.CauseLock && t.Memory != nil {
		t.Memory.Watch(watchedFor)
	}
}

// awaitsMappings waits until the lock is free, if that is worth while, and reports whether it was held. The thread may
// have gone to sleep then.
func (l *Looker) awaitsMappings(t *Thread, s *Shot) bool {
	s.Awaited = 0
	m := t.Memory
	if m == nil || l.rung != Ladder || t.Sampled() || !m.Watched() && l.pause.limit == 0 {
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

// letGo ends a look whose thread was stopped, and let go because its memory could not be read in time.
func (l *Looker) letGo(t *Thread) error {
	t.base.valid = false
	t.letGo, _ = t.stopped(&l.stop)
	t.letGo = max(t.letGo, 1)
	l.pause.froze(t, t.letGo)
	return refusal.MapLock
}

// TakeLetGo gives for how long the thread was stopped by a look that failed with [refusal.MapLock], in nanoseconds; 0
// if it was not. It tells that once.
func (t *Thread) TakeLetGo() (ns int64) {
	ns, t.letGo = t.letGo, 0
	return ns
}

// lookAnew is the beginning of a look to which the tracer has slept in between: it has woken up anew, and not by its
// timer.
func (l *Looker) lookAnew(t *Thread, s *Shot) (asleep bool, err error) {
	if t.before, err = t.files.SchedStat(); err != nil {
		return false, err
	}
	l.Awake()
	l.Woken(procmem.Now())
	t.skid.BeginLook(l.wake().At, t.before.Runs)
	return l.peek(t, s, t.before)
}
