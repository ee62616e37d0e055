// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// joins finds the threads for whose end others wait. Up to 3.12 Thread.join waits for a lock, _tstate_lock of the
// awaited Thread object (Lib/threading.py), that only the end of the thread releases.
type joins struct {
	*interpreter
	names  *threadNames
	byLock map[uint64]joined // by the semaphore of the lock
	readAt int64             // CLOCK_MONOTONIC, ns
}

type joined struct{ id, thread uint64 } // pthread_self, Thread object

func (j *joins) forget() { j.byLock, j.readAt = nil, 0 }

// waiting returns the wait of a sleeper at the lock of a thread that still has it.
func (j *joins) waiting(s *managed.Sleeper) (w managed.Wait, ok bool) {
	if j.minor > 12 || s.Live == nil {
		return w, false
	}
	o := j.objects()
	if procmem.Now()-j.readAt >= namesValidFor {
		j.read(o)
	}
	t, ok := j.byLock[s.Word]
	if !ok || j.lockOf(o, t.thread) != s.Word || !j.names.threads.readThreads() || !s.Live.Unchanged() {
		return w, false
	}
	for i := range j.names.threads.list {
		if th := &j.names.threads.list[i]; th.id == t.id && th.native != 0 {
			w = managed.Wait{Kind: managed.WaitJoin, Address: s.Word, Owner: int(th.native), Timed: s.Timed}
			w.OwnerName, _ = j.names.of(w.Owner)
			return w, true
		}
	}
	return w, false
}

func (j *joins) read(o *objects) {
	j.byLock, j.readAt = map[uint64]joined{}, procmem.Now()
	for _, e := range o.entries(j.names.activeThreads(o)) {
		if lock := j.lockOf(o, e.value); lock != 0 && e.hash != 0 {
			j.byLock[lock] = joined{e.hash, e.value}
		}
	}
}

// lockOf returns the semaphore of a Thread object's _tstate_lock; 0: none.
func (j *joins) lockOf(o *objects, thread uint64) uint64 {
	if thread == 0 {
		return 0
	}
	lock := o.attribute(thread, "_tstate_lock")
	if lock == 0 || j.typeName(j.read64(lock+objectType)) != "lock" {
		return 0
	}
	return j.read64(lock + lockWord)
}
