// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"

	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// # The lock of the interpreter
//
// struct _gil_runtime_state (Include/internal/pycore_gil.h) begins, in 3.8 to 3.15, with
//
//	0   interval: how long a thread waits until it asks the holder to let go, in microseconds
//	8   last_holder: the state of the thread that has the lock, or had it last
//	16  locked: 1 if a thread has it, −1 before it is made
//	24  switch_number: how often another thread has got it
//	32  the condition variable that threads wait for it in, 48 bytes with glibc and musl
//
// Where it lies in _PyRuntime differs between builds. It is found by its contents: the one place with an interval, the
// state of a thread, a lock that is taken or free, and a count. A sub-interpreter with a lock of its own (3.12 on) has
// it elsewhere: of its threads nothing is told.
//
// Who waits for it sleeps at a word of that condition variable. Who has it is copied in the same look, so that it is
// true of that moment: threads pass it on each few milliseconds.

// Places in it, in bytes.
const (
	gilHolder  = 8
	gilLocked  = 16
	gilCount   = 24
	gilHead    = 32 // what is copied: all in front of the condition variable
	gilCond    = 32
	gilCondEnd = 80
)

// Bounds of the search.
const (
	maxInterval = 1e9     // µs
	maxRuntime  = 1 << 20 // bytes of _PyRuntime; 3.12 has 460,000
	gilPiece    = 64 << 10

	mostTries   = 30  // after the first
	soughtAgain = 1e9 // ns
)

// isGIL reports whether bytes can be those of the lock. states are the thread states that there are.
func isGIL(b []byte, states map[uint64]bool) bool {
	interval := binary.LittleEndian.Uint64(b)
	locked := binary.LittleEndian.Uint32(b[gilLocked:])
	return interval != 0 && interval <= maxInterval && states[binary.LittleEndian.Uint64(b[gilHolder:])] && locked <= 1 &&
		binary.LittleEndian.Uint32(b[gilLocked+4:]) == 0 && binary.LittleEndian.Uint64(b[gilCount:]) != 0
}

// usualInterval is what most programs leave it at, in microseconds.
const usualInterval = 5000

// findGIL looks for the lock. The list of threads must have been read. Of several places the one with the usual
// interval is it; where that does not tell, none is. It reports whether there is any such place.
func (r *Runtime) findGIL() (found bool) {
	states := map[uint64]bool{}
	for i := range r.threads.list {
		states[r.threads.list[i].at] = true
	}
	var usual, others []uint64
	b := make([]byte, gilPiece)
	end := r.at + min(r.size, maxRuntime)
	for at := r.at; at < end; at += gilPiece - gilHead {
		n := r.host.Read(at, b[:min(gilPiece, end-at)])
		for i := 0; i+gilHead <= n && i < gilPiece-gilHead; i += 8 {
			switch {
			case !isGIL(b[i:], states):
			case binary.LittleEndian.Uint64(b[i:]) == usualInterval:
				usual = append(usual, at+uint64(i))
			default:
				others = append(others, at+uint64(i))
			}
		}
	}
	switch {
	case len(usual) == 1:
		r.gil = usual[0]
	case len(usual) == 0 && len(others) == 1:
		r.gil = others[0]
	}
	return len(usual)+len(others) > 0
}

// seekGIL looks for a lock that was not found when the interpreter was met, as where the last thread that had it has
// ended. It does so seconds apart, and not for ever: a build may have its lock elsewhere.
func (r *Runtime) seekGIL() {
	now := procmem.Now()
	if r.wider != 0 || r.gilTries == mostTries || now-r.gilAt < soughtAgain {
		return
	}
	r.gilTries, r.gilAt = r.gilTries+1, now
	if r.findGIL(); r.gil != 0 {
		r.makePlan()
	}
}

// Waiting implements [managed.Waiter]: it knows who waits for the interpreter's lock.
func (r *Runtime) Waiting(s *managed.Sleeper) (w managed.Wait, ok bool) {
	if w, ok := r.waitingForRLock(s); ok {
		return w, true
	}
	if r.gil == 0 {
		r.seekGIL()
	}
	if r.gil == 0 || s.Word < r.gil+gilCond || s.Word >= r.gil+gilCondEnd {
		return w, false
	}
	w = managed.Wait{Kind: managed.WaitGIL, Address: r.gil}
	b, ok := r.copiedGIL(s)
	if !ok {
		w.Later = true
		return w, true
	}
	if binary.LittleEndian.Uint32(b[gilLocked:]) != 1 { // it is just being passed on
		return w, true
	}
	state := binary.LittleEndian.Uint64(b[gilHolder:])
	th := r.threadAt(state)
	if th == nil || th.native == 0 {
		return w, true
	}
	w.Owner = int(th.native)
	w.OwnerName, _ = r.ThreadName(w.Owner)
	return w, true
}

// copiedGIL gives the lock as it was in the look, or as it is now if the sleep is still the same.
func (r *Runtime) copiedGIL(s *managed.Sleeper) (b [gilHead]byte, ok bool) {
	if s.Mem != nil {
		ok = true
		for i := 0; i < gilHead && ok; i += 8 {
			var v uint64
			v, ok = s.Mem.Word(r.gil + uint64(i))
			binary.LittleEndian.PutUint64(b[i:], v)
		}
		if ok {
			return b, true
		}
	}
	if r.host.Read(r.gil, b[:]) != len(b) || s.Live == nil || !s.Live.Unchanged() {
		return b, false
	}
	return b, true
}

// threadAt gives a thread by its state; nil if it is not in the list.
func (r *Runtime) threadAt(state uint64) *thread {
	for range 2 {
		for i := range r.threads.list {
			if th := &r.threads.list[i]; th.at == state {
				return th
			}
		}
		if procmem.Now()-r.threads.read < readAgain {
			break
		}
		r.readThreads()
	}
	return nil
}
