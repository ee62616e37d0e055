// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

type threadNames struct {
	python    *interpreter
	threads   *threads
	names     map[uint64]string // by kernel thread ID
	allReadAt int64             // last full reading, in nanoseconds of CLOCK_MONOTONIC
	readAt    int64             // last reading, of missing names or all
	active    uint64            // threading._active: a dict of threads by pthread_self
}

// Between readings of missing names passes at least what reading some tens of threads takes: many threads live
// no longer than a few ticks.
const (
	namesValidFor = int64(500 * time.Millisecond)
	rereadMissing = int64(time.Millisecond)
)

func (n *threadNames) forget() { n.names, n.allReadAt, n.readAt, n.active = nil, 0, 0, 0 }

func (n *threadNames) nameOf(tid int) (string, bool) {
	name, ok := n.names[uint64(tid)]
	all, missing := n.due(procmem.Now())
	if !all && (ok || !missing) {
		return name, ok
	}
	if all {
		n.names = map[uint64]string{}
	}
	n.readNames()
	if n.readAt = procmem.Now(); all {
		n.allReadAt = n.readAt
	}
	name, ok = n.names[uint64(tid)]
	return name, ok
}

// due reports whether to read all names, or the missing ones.
func (n *threadNames) due(now int64) (all, missing bool) {
	pause := max(rereadMissing, pauseForThread*int64(len(n.threads.list)))
	return now-n.allReadAt >= namesValidFor, now-n.readAt >= pause
}

func (n *threadNames) setOwner(w *managed.WaitAnswer, owner *thread) {
	w.Owner = int(owner.native)
	w.OwnerName, _ = n.nameOf(w.Owner)
}

// readNames reads missing names twice, between two readings of the threads.
func (n *threadNames) readNames() {
	if !n.threads.readThreads() {
		return
	}
	before, wanted := map[uint64]uint64{}, map[uint64]bool{}
	for i := range n.threads.list {
		th := &n.threads.list[i]
		before[th.native] = th.id
		if n.names[th.native] == "" {
			wanted[th.id] = true
		}
	}
	first, again := n.namesByID(wanted), n.namesByID(wanted)
	if !n.threads.readThreads() {
		return
	}
	for i := range n.threads.list {
		th := &n.threads.list[i]
		if name := first[th.id]; name != "" && again[th.id] == name && th.native != 0 && before[th.native] == th.id {
			n.names[th.native] = name
		}
	}
}

func (n *threadNames) namesByID(wanted map[uint64]bool) map[uint64]string {
	o := n.python.objects()
	names := map[uint64]string{}
	for _, e := range o.entries(n.activeThreads(o)) {
		if e.value == 0 || e.hash == 0 || !wanted[e.hash] {
			continue
		}
		if name, ok := o.text(o.attribute(e.value, "_name")); ok {
			names[e.hash] = name
		}
	}
	if main := n.threads.mainID(); wanted[main] && names[main] == "" {
		if name, ok := o.text(o.attribute(n.mainThread(o), "_name")); ok {
			names[main] = name
		}
	}
	return names
}

// mainThread returns threading._main_thread, or 0 if there is none. gevent's patches (gevent/monkey.py) enter it in
// _active by its greenlet.
func (n *threadNames) mainThread(o *objects) uint64 {
	return o.get(n.threading(o), "_main_thread")
}

// threading returns the entries of sys.modules["threading"].__dict__, or nil if it is not imported.
func (n *threadNames) threading(o *objects) []entry {
	threading := o.get(o.entries(n.threads.modules()), "threading")
	if !o.is(threading, n.python.moduleType) {
		return nil
	}
	return o.entries(n.python.read64(threading + moduleDict + n.python.headExtra))
}

// activeThreads returns sys.modules["threading"]._active, or 0 if there is none.
func (n *threadNames) activeThreads(o *objects) uint64 {
	if o.is(n.active, n.python.dictType) {
		return n.active
	}
	n.active = 0
	active := o.get(n.threading(o), "_active")
	if o.is(active, n.python.dictType) {
		n.active = active
	}
	return n.active
}
