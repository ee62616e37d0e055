// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"slices"
	"time"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

type threads struct {
	python *interpreter
	list   []thread
	next   int64 // earliest next reading for an unknown thread, in nanoseconds of CLOCK_MONOTONIC
	main   uint64
	head   uint64 // address of the pointer to the main interpreter's newest state
	forked thread
}

type thread struct {
	at          uint64
	id          uint64 // pthread_self
	native      uint64 // kernel thread ID; 0 means unknown
	recordedID  uint64 // in the state, if a fork made it wrong; else 0
	idle        bool   // without frames, or borrowed ([threads.markBorrowed])
	shared      bool   // one of several states of the thread, one per interpreter
	firstCFrame uint64 // innermost _PyCFrame (3.11, 3.12), on the running thread's stack
}

const (
	maxInterps         = 1 << 10
	maxThreads         = 1 << 15
	rereadThreadsAfter = int64(15 * time.Millisecond)
	// pauseForThread is some ten times what reading a thread takes. Any thread that is none of Python's asks for the
	// list, and an entry that leads to itself makes one of maxThreads.
	pauseForThread = int64(25 * time.Microsecond)
)

func (t *threads) forget() { *t = threads{python: t.python} }

// readThreads reads the states of all interpreters; it returns false if these are inconsistent.
func (t *threads) readThreads() bool {
	t.list = t.list[:0]
	defer func() { t.next = procmem.Now() + max(rereadThreadsAfter, pauseForThread*int64(len(t.list))) }()
	if t.python.runtimeMain != 0 {
		t.main = t.python.read64(t.python.at + uint64(t.python.runtimeMain))
	}
	interp := t.python.read64(t.python.at + uint64(t.python.runtimeInterps))
	for n := 0; interp != 0; n++ {
		if n == maxInterps || !t.readInterp(interp) {
			return false
		}
		t.head = interp + uint64(t.python.interpThreads) // the main interpreter is the last in the list
		interp = t.python.read64(interp + uint64(t.python.interpNext))
		if interp == 0 && n > 0 {
			t.markShared()
			t.markBorrowed()
		}
	}
	return len(t.list) > 0
}

func (t *threads) addObserved(th thread) {
	for i := range t.list {
		if t.list[i].native == th.native {
			if !t.list[i].shared {
				t.list[i] = th
			}
			return
		}
	}
	if len(t.list) < maxThreads {
		t.list = append(t.list, th)
	}
}

func (t *threads) markShared() {
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

// markBorrowed marks as idle the states with which another thread runs a sub-interpreter: the one on whose stack the
// innermost _PyCFrame is. pthread_self lies above a thread's stack, but for the main thread's.
func (t *threads) markBorrowed() {
	for i := range t.list {
		th := &t.list[i]
		if !th.shared || th.idle || th.firstCFrame == 0 {
			continue
		}
		owner := t.main
		for j, above := 0, uint64(1<<64-1); j < len(t.list); j++ {
			if id := t.list[j].id; id > th.firstCFrame && id < above {
				owner, above = id, id
			}
		}
		th.idle = owner != th.id
	}
}

func (t *threads) readInterp(interp uint64) bool {
	b := make([]byte, t.python.threadSize)
	word := func(off int64) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	for at := t.python.read64(interp + uint64(t.python.interpThreads)); at != 0; at = word(t.python.threadNext) {
		if len(t.list) == maxThreads || t.python.host.Read(at, b) != len(b) || word(t.python.threadInterp) != interp {
			return false
		}
		th := thread{at: at, id: word(t.python.threadID), idle: t.python.isIdle(at, word(t.python.threadFrame))}
		if t.python.cframe {
			th.firstCFrame = word(t.python.threadFrame)
		}
		if t.python.threadNative != 0 {
			th.native = word(t.python.threadNative)
			if f := &t.forked; f.recordedID != 0 && th.native == f.recordedID && th.id == f.id {
				th.native, th.recordedID = f.native, f.recordedID
			}
		} else if t.python.host.Arch() == frames.X86_64 {
			th.native = t.tidOf(th.id)
		}
		t.list = append(t.list, th)
	}
	return true
}

func (t *threads) tidOf(pthread uint64) uint64 {
	return t.python.read64(pthread+managed.PthreadTID) & (1<<32 - 1)
}

func (t *threads) anchor(tid int, threadPointer uint64) (uint64, bool) {
	old := procmem.Now() >= t.next
	if th := t.find(tid, threadPointer, 0); th != nil && !(th.shared && old) {
		return th.at, true
	}
	if !old {
		return 0, false
	}
	t.readThreads()
	if th := t.find(tid, threadPointer, 0); th != nil {
		return th.at, true
	}
	if th := t.findForked(tid, threadPointer); th != nil {
		return th.at, true
	}
	return 0, false
}

// findForked returns the thread of a process forked without notice to the interpreter (uWSGI): its state has the
// parent's thread ID.
func (t *threads) findForked(tid int, threadPointer uint64) *thread {
	if t.python.threadNative == 0 || t.python.host.Arch() != frames.X86_64 {
		return nil
	}
	for i := range t.list {
		th := &t.list[i]
		if threadPointer != 0 && th.id != threadPointer || th.recordedID != 0 || t.tidOf(th.id) != uint64(tid) {
			continue
		}
		th.native, th.recordedID = uint64(tid), th.native
		t.forked = *th
		return th
	}
	return nil
}

// find finds a thread's state by thread ID, in releases without one by pthread_self. Of several it is the first with
// frames. If none is found, and pthread_self is unknown (0) but not sp, it is in such releases the nearest one above
// sp, else the main thread's.
func (t *threads) find(tid int, threadPointer, sp uint64) *thread {
	th := t.firstWithFrames(tid, threadPointer)
	if th != nil || threadPointer != 0 || sp == 0 {
		return th
	}
	if t.python.threadNative == 0 {
		th = t.nearestAbove(sp)
	}
	if th == nil {
		th = t.mainThread()
	}
	return th
}

func (t *threads) isByTID(th *thread, tid int, threadPointer uint64) bool {
	return th.native == uint64(tid) && (threadPointer == 0 || th.id == threadPointer)
}

func (t *threads) isByPthread(th *thread, threadPointer uint64) bool {
	return t.python.threadNative == 0 && threadPointer != 0 && th.id == threadPointer
}

func (t *threads) firstWithFrames(tid int, threadPointer uint64) (first *thread) {
	for i := range t.list {
		th := &t.list[i]
		switch {
		case !t.isByTID(th, tid, threadPointer) && !t.isByPthread(th, threadPointer):
		case !th.idle || !th.shared:
			return th
		case first == nil:
			first = th
		}
	}
	return first
}

func (t *threads) first(is func(*thread) bool) *thread {
	i := slices.IndexFunc(t.list, func(th thread) bool { return is(&th) })
	if i < 0 {
		return nil
	}
	return &t.list[i]
}

func (t *threads) nearestAbove(sp uint64) (nearest *thread) {
	for i := range t.list {
		th := &t.list[i]
		if th.id > sp && th.id-sp < maxStack && (nearest == nil || th.id < nearest.id) {
			nearest = th
		}
	}
	return nearest
}

// mainID returns pthread_self of the main thread, or 0 if it is unknown. From 3.13 on that is the one with the state in
// the main interpreter (_initial_thread, Include/internal/pycore_interp.h), which is in _PyRuntime.
func (t *threads) mainID() uint64 {
	if t.main != 0 {
		return t.main
	}
	if th := t.first(func(th *thread) bool { return th.at-t.python.at < t.python.size }); th != nil {
		return th.id
	}
	return 0
}

func (t *threads) mainThread() *thread {
	return t.first(func(th *thread) bool { return th.id == t.main })
}

// byPthread returns a thread with a known kernel thread ID.
func (t *threads) byPthread(id uint64) *thread {
	return t.first(func(th *thread) bool { return th.id == id && th.native != 0 && id != 0 })
}

const maxStack = 64 << 20 // bytes

func (t *threads) threadAt(state uint64) *thread {
	isState := func(th *thread) bool { return th.at == state }
	th := t.first(isState)
	if th == nil && procmem.Now() >= t.next {
		t.readThreads()
		th = t.first(isState)
	}
	return th
}

func (t *threads) modules() uint64 {
	if t.python.interpModules == 0 || t.head == 0 {
		return 0
	}
	return t.python.read64(t.head - uint64(t.python.interpThreads) + uint64(t.python.interpModules))
}
