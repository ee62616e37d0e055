// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// threads is the list of thread states, as of its last reading.
type threads struct {
	list []thread
	read int64 // when, CLOCK_MONOTONIC in nanoseconds
	main uint64
	head uint64 // where the main interpreter keeps the newest state
	// forked is the thread whose state has another one's number, see [Runtime.forked]: a process has one at most.
	forked thread
}

// thread is a thread state.
type thread struct {
	at     uint64
	id     uint64 // pthread_self
	native uint64 // the kernel's number, 0 if it is not known
	says   uint64 // what the state has for that, if it is the number of another process's thread; else 0
	idle   bool   // it had no frames: of a thread with several states, each of another interpreter, another one runs
	shared bool   // the thread has several
	first  uint64 // its innermost _PyCFrame, which lies on the stack of the thread that runs it (3.11, 3.12)
}

// Bounds of what is read of the lists.
const (
	mostInterps = 1 << 10
	mostThreads = 1 << 15
	readAgain   = 15e6 // ns; the list is not read more often for a thread that it has not got
)

// readThreads reads the list of all interpreters' thread states; false if it is not one.
func (r *Runtime) readThreads() bool {
	t := &r.threads
	t.list, t.read = t.list[:0], procmem.Now()
	if r.runtimeMain != 0 {
		t.main = r.read64(r.at + uint64(r.runtimeMain))
	}
	interp := r.read64(r.at + uint64(r.runtimeInterps))
	for n := 0; interp != 0; n++ {
		if n == mostInterps || !r.readInterp(interp) {
			return false
		}
		t.head = interp + uint64(r.interpThreads) // the main interpreter is the oldest, the last of the list
		interp = r.read64(interp + uint64(r.interpNext))
		if interp == 0 && n > 0 {
			t.share()
			t.lend()
		}
	}
	return len(t.list) > 0
}

// meet adds a thread that a look has found, until the list is read again. Further looks at it need not have copied what
// leads there. Whoever has had its number before is not there any more. Of a thread with several states the list
// decides.
func (t *threads) meet(th thread) {
	for i := range t.list {
		if t.list[i].native == th.native {
			if !t.list[i].shared {
				t.list[i] = th
			}
			return
		}
	}
	if len(t.list) < mostThreads {
		t.list = append(t.list, th)
	}
}

// share marks the states of threads that have several.
func (t *threads) share() {
	first := make(map[uint64]int, len(t.list))
	for i := range t.list {
		th := &t.list[i]
		if j, known := first[th.id]; known {
			th.shared, t.list[j].shared = true, true
		} else {
			first[th.id] = i
		}
	}
}

// lend marks states as idle that another thread runs with: that one has borrowed it to run code of a sub-interpreter.
// It is the one whose stack has the state's innermost _PyCFrame: pthread_self lies above the stack, but for the main
// thread.
func (t *threads) lend() {
	for i := range t.list {
		th := &t.list[i]
		if !th.shared || th.idle || th.first == 0 {
			continue
		}
		owner := t.main
		for j, above := 0, uint64(1<<64-1); j < len(t.list); j++ {
			if id := t.list[j].id; id > th.first && id < above {
				owner, above = id, id
			}
		}
		th.idle = owner != th.id
	}
}

// readInterp adds the thread states of an interpreter.
func (r *Runtime) readInterp(interp uint64) bool {
	t, b := &r.threads, make([]byte, r.threadSize)
	word := func(off int64) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	for at := r.read64(interp + uint64(r.interpThreads)); at != 0; at = word(r.threadNext) {
		if len(t.list) == mostThreads || r.host.Read(at, b) != len(b) || word(r.threadInterp) != interp {
			return false
		}
		th := thread{at: at, id: word(r.threadID), idle: r.isIdle(at, word(r.threadFrame))}
		if r.cframe {
			th.first = word(r.threadFrame)
		}
		if r.threadNative != 0 {
			th.native = word(r.threadNative)
			if f := &t.forked; f.says != 0 && th.native == f.says && th.id == f.id {
				th.native, th.says = f.native, f.says
			}
		} else if r.host.Arch() == frames.X86_64 {
			th.native = r.read64(th.id+pthreadTID) & (1<<32 - 1)
		}
		t.list = append(t.list, th)
	}
	return true
}

// isIdle reports whether a thread state has no frames. first is what it has for the innermost one.
func (r *Runtime) isIdle(state, first uint64) bool {
	return first == 0 || first-state < uint64(r.threadSize) // of 3.11 and 3.12 its own _PyCFrame, of 3.15 its sentinel
}

// pthreadTID is where glibc keeps a thread's number in struct pthread, on x86-64 (nptl/descr.h). Before 3.11 the
// interpreter does not know that number. Where it is another libc, a thread is not found by it.
const pthreadTID = 720

// Anchor implements [managed.Planner]: the thread's state.
func (r *Runtime) Anchor(tid int, pthread uint64) (uint64, bool) {
	old := procmem.Now()-r.threads.read >= readAgain
	if th := r.find(tid, pthread, 0); th != nil && !(th.shared && old) {
		return th.at, true
	}
	if !old {
		return 0, false
	}
	r.readThreads() // what was read of a list that changed meanwhile is good enough: the state is checked in each walk
	if th := r.find(tid, pthread, 0); th != nil {
		return th.at, true
	}
	if th := r.forked(tid, pthread); th != nil {
		return th.at, true
	}
	return 0, false
}

// forked gives the state of a thread whose process was forked by a program that does not tell the interpreter so, as
// uWSGI does. The state has the number of the thread that has forked, whose pthread_self the child's only thread has,
// too. Its own number glibc knows.
func (r *Runtime) forked(tid int, pthread uint64) *thread {
	if r.threadNative == 0 || r.host.Arch() != frames.X86_64 {
		return nil
	}
	for i := range r.threads.list {
		th := &r.threads.list[i]
		if pthread != 0 && th.id != pthread || th.says != 0 || r.read64(th.id+pthreadTID)&(1<<32-1) != uint64(tid) {
			continue
		}
		th.native, th.says = uint64(tid), th.native
		r.threads.forked = *th
		return th
	}
	return nil
}

// find gives the state of a thread: by the kernel's number of it, by pthread_self, or, where neither is known, by its
// stack, above which pthread_self lies. That is only a guess, which the merge proves. Of several the first one that had
// frames is it: the newest interpreter's, the innermost. Which one has frames changes: their list is read again.
func (r *Runtime) find(tid int, pthread, sp uint64) *thread {
	var near, idle *thread
	for i := range r.threads.list {
		th := &r.threads.list[i]
		switch {
		case th.native == uint64(tid) && (pthread == 0 || th.id == pthread),
			r.threadNative == 0 && pthread != 0 && th.id == pthread:
			if !th.idle || !th.shared {
				return th
			}
			if idle == nil {
				idle = th
			}
		case r.threadNative != 0, pthread != 0:
		case th.id > sp && sp != 0 && th.id-sp < mostStack && (near == nil || th.id < near.id):
			near = th
		}
	}
	if idle != nil {
		return idle
	}
	for i := range r.threads.list {
		// Above the main thread's stack there is none.
		if th := &r.threads.list[i]; near == nil && pthread == 0 && sp != 0 && th.id == r.threads.main {
			return th
		}
	}
	return near
}

// mostStack is how large a thread's stack can be for its state to be found by it, in bytes.
const mostStack = 64 << 20
