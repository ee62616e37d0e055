// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// # The interpreter lock
//
// One thread of a ractor runs. The lock is in the virtual machine (2.7) or the ractor: struct rb_global_vm_lock_struct,
// from 3.2 on rb_thread_sched (thread_pthread.h), with the running thread and the list of waiting ones.

// lockLayout has offsets, bytes.
type lockLayout struct {
	at           int64 // from the ractor's list of threads; 2.7: in the virtual machine
	owner, queue int64
	node         int64 // in a thread
}

const maxWaiting = 1 << 12

// Waiting implements [managed.Threads].
func (r *Runtime) Waiting(q *managed.WaitQuery) (w managed.WaitAnswer, ok bool) {
	machine := &r.vm
	if q.Word == 0 && !machine.sleepsInPpoll() {
		return w, false
	}
	at, ok := machine.anchor(q.InnerTID, 0)
	if !ok {
		return w, false
	}
	read := copyReader{vm: machine, query: q}
	lock := read.lockOf(at)
	if read.isQueued(lock+uint64(machine.heap.lock.queue), at+uint64(machine.heap.lock.node)) {
		owner := read.word(lock + uint64(machine.heap.lock.owner))
		w = managed.WaitAnswer{Kind: waits.GIL, Address: lock}
		for i := range machine.threads.list {
			if th := &machine.threads.list[i]; th.at == owner && owner != at {
				w.Owner = th.tid
			}
		}
	} else {
		if at, ok = machine.verifiedAnchor(q.InnerTID, at); !ok {
			return w, false
		}
		b := blockedWait{runtime: r, reader: &read, thread: at}
		w, ok = b.find()
	}
	if read.later && (q.Live == nil || !q.Live.Unchanged()) {
		return managed.WaitAnswer{Later: true}, false
	}
	return w, ok
}

// sleepsInPpoll reports whether threads may wait in ppoll(2): before 3.3.
func (m *rubyVM) sleepsInPpoll() bool { return m.heap.release < 303 }

func (r *copyReader) lockOf(th uint64) uint64 {
	m := r.vm
	if m.heap.hasRactors() {
		return r.word(th+threadRactor) + uint64(m.heap.ractorThreads+m.heap.lock.at)
	}
	return m.addr + uint64(m.heap.lock.at)
}

const (
	threadRactor = 24 // 3.0 on
	lockCopied   = 88
)

type copyReader struct {
	vm    *rubyVM
	query *managed.WaitQuery
	later bool
}

func (r *copyReader) word(addr uint64) uint64 {
	if r.query.Mem != nil {
		if v, ok := r.query.Mem.Word(addr); ok {
			return v
		}
	}
	r.later = true
	return r.vm.heap.word(addr)
}

func (r *copyReader) isQueued(head, node uint64) bool {
	next := r.word(node)
	switch {
	case next == 0 || next == node: // in no list
		return false
	case r.word(head) == node || r.word(head+8) == node: // its first, its last
		return true
	}
	r.later = true
	at := r.word(head)
	for n := 0; at != 0 && at != head && n < maxWaiting; n++ {
		if at == node {
			return true
		}
		at = r.word(at)
	}
	return false
}
