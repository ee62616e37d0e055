// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// joins finds the thread for whose end another waits: up to 3.12 at the _tstate_lock of a Thread object
// (Lib/threading.py), from 3.13 on at an event in a ThreadHandle (Modules/_threadmodule.c).
type joins struct {
	python   *interpreter
	names    *threadNames
	byLock   map[uint64]uint64
	nextRead int64 // in nanoseconds of CLOCK_MONOTONIC
}

const readingShare = 50

// maxBetweenReads is a limit because a reading may have waited for a CPU.
const maxBetweenReads = int64(10 * time.Second)

func (j *joins) forget() { j.byLock, j.nextRead = nil, 0 }

func (j *joins) waiting(q *managed.WaitQuery) (w managed.WaitAnswer, ok bool) {
	if j.python.minor > 12 {
		return j.waitingAtHandle(q)
	}
	o := j.python.objects()
	if begin := procmem.Now(); begin >= j.nextRead {
		j.read(o)
		now := procmem.Now()
		j.nextRead = now + min(max(namesValidFor, readingShare*(now-begin)), maxBetweenReads)
	}
	object := j.byLock[q.Word]
	if object == 0 || j.lockOf(o, object) != q.Word {
		return w, false
	}
	id := j.identOf(o, object) // of now: objects and idents are reused
	return j.endOf(id, q.Word, q)
}

// A ThreadHandle has the thread's pthread_self twice, as ident and os_handle, this many bytes before the word of its
// event thread_is_exiting.
const (
	handleIdent  = 25
	handleHandle = 17
)

func (j *joins) waitingAtHandle(q *managed.WaitQuery) (w managed.WaitAnswer, ok bool) {
	event := j.python.parkedAt(q)
	if event == 0 {
		return w, false
	}
	id := j.python.read64(event - handleIdent)
	if id != j.python.read64(event-handleHandle) {
		return w, false
	}
	return j.endOf(id, event, q)
}

func (j *joins) endOf(pthread, at uint64, q *managed.WaitQuery) (w managed.WaitAnswer, ok bool) {
	if pthread == 0 || q.Live == nil || !j.names.threads.readThreads() || !q.Live.Unchanged() {
		return w, false
	}
	th := j.names.threads.byPthread(pthread)
	if th == nil {
		return w, false
	}
	w = managed.WaitAnswer{Kind: waits.Join, Address: at, Timed: q.Timed}
	j.names.setOwner(&w, th)
	return w, true
}

func (j *joins) read(o *objects) {
	j.byLock = map[uint64]uint64{}
	for _, e := range o.entries(j.names.activeThreads(o)) {
		if lock := j.lockOf(o, e.value); lock != 0 {
			j.byLock[lock] = e.value
		}
	}
}

func (j *joins) identOf(o *objects, thread uint64) uint64 {
	for _, e := range o.entries(j.names.activeThreads(o)) {
		if e.value == thread {
			return e.hash
		}
	}
	return 0
}

func (j *joins) lockOf(o *objects, thread uint64) uint64 {
	if thread == 0 {
		return 0
	}
	lock := o.attribute(thread, "_tstate_lock")
	if lock == 0 || j.python.typeName(j.python.read64(lock+objectType)) != "lock" {
		return 0
	}
	return j.python.read64(lock + lockWord)
}

// parkedBefore is the distance from the word before the semaphore in struct wait_entry (Python/parking_lot.c, 3.13 on),
// which is on the waiter's stack, to the semaphore.
const parkedBefore = 8

// parkedAt returns the address at which a thread that sleeps in _PyParkingLot_Park is parked. For another thread it
// returns a word of the process, or 0.
func (in *interpreter) parkedAt(q *managed.WaitQuery) (at uint64) {
	switch {
	case in.minor < 13:
	case q.Mem == nil:
		at = in.read64(q.Word - parkedBefore)
	default:
		at, _ = q.Mem.Word(q.Word - parkedBefore)
	}
	return at
}
