// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"reflect"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// Nested "with": instructions 13 to 35 unwind to one value, 24 to 29 to two.
func TestLiveDepthIsThatOfTheInstructionsEntry(t *testing.T) {
	table := []byte{0x80 | 13, 11, 40, 1<<1 | 1, 0x80 | 24, 6, 64 | 1, 2, 2<<1 | 1, 0x80 | 30, 6, 40, 1<<1 | 1}
	for instruction, want := range map[int]int{0: 0, 12: 0, 13: 1, 23: 1, 24: 2, 29: 2, 30: 1, 35: 1, 36: 0, -1: 0} {
		if got := liveDepth(table, instruction); got != want {
			t.Errorf("instruction %d: %d values, want %d", instruction, got, want)
		}
	}
}

func FuzzLiveDepth(f *testing.F) {
	f.Add([]byte{0x80 | 13, 11, 40, 3}, 15)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f, 0, 0, 0}, 0)
	f.Fuzz(func(t *testing.T, table []byte, instruction int) {
		if n := liveDepth(table, instruction); n < 0 || n > maxValues {
			t.Errorf("%d values", n)
		}
	})
}

// The waiter's innermost frame has the RLock on its stack of values, in the first value after one local variable.
func TestAnRLockIsFoundByTheAskingThreadsOwnFrame(t *testing.T) {
	const rlock, semaphore, code, frame = imageAt + 0x100, imageAt + 0x300, imageAt + 0x600, imageAt + 0x1000
	l, ok := layoutOfDebugOffsets(debugOffsets(t, "13"))
	if !ok {
		t.Fatal("no layout")
	}
	g := &greenletImage{image: image{imageAt, make([]byte, 0x2000)}}
	r := newParts(&interpreter{layout: l, host: g, at: imageAt})
	g.put(rlock+objectType, imageAt+0x400)
	g.put(imageAt+0x400+typeSize, 48)
	g.put(imageAt+0x400+typeNameAddr, imageAt+0x500)
	copy(g.bytes[0x500:], "_thread.RLock\x00")
	g.put(rlock+lockWord, semaphore)
	g.put(code+uint64(l.codeFirstLine)-4, 2)
	g.put(code+uint64(l.codeFirstLine)+4, 1)
	g.put(frame+uint64(l.frameLocals)+8, rlock)
	r.locks.chain.state, r.locks.chain.frames = 1, []pyFrame{{at: frame, code: code}}
	r.locks.chain.view.Sample = &managed.Sample{InnerTID: 7}
	for tid, want := range map[int]bool{7: true, 8: false} {
		r.locks.forget()
		q := managed.WaitQuery{InnerTID: tid, Word: semaphore}
		found := r.locks.addAwaited(&q)
		if w, ok := r.locks.waiting(&q); found != want || ok != want || want && w.Class != languages.PythonRLock {
			t.Errorf("thread %d: %v, %+v", tid, found, w)
		}
	}
}

// A free-threaded build has longer heads of objects.
func TestLocksAreFoundInBothBuilds(t *testing.T) {
	const (
		rlock, semaphore = imageAt + 0x100, imageAt + 0x300
		lock, ofWaiter   = imageAt + 0x800, imageAt + 0xa00
		pthread          = 0x7000
	)
	for _, build := range []string{"13", "13t", "14", "14t"} {
		l, ok := layoutOfDebugOffsets(debugOffsets(t, build))
		if !ok {
			t.Fatal(build)
		}
		g := &greenletImage{image: image{imageAt, make([]byte, 0x2000)}}
		r := newParts(&interpreter{layout: l, host: g, at: imageAt})
		r.threads.list, r.threads.next = []thread{{id: pthread, native: 4711}}, 1<<62
		r.names.names, r.names.allReadAt, r.names.readAt = map[uint64]string{4711: "owner"}, 1<<62, 1<<62
		put := func(object, offset, v uint64) { g.put(object+offset+l.headExtra, v) }
		putType := func(object, typ, size uint64, name string) {
			put(object, objectType, typ)
			put(typ, typeSize, size+l.headExtra)
			put(typ, typeNameAddr, typ+0x100)
			copy(g.bytes[typ+0x100-imageAt:], name+"\x00")
		}
		putType(rlock, imageAt+0x400, 48, "_thread.RLock")
		put(rlock, lockWord, semaphore)
		put(rlock, lockOwner, pthread)
		put(rlock, lockCount, 2)
		putType(lock, imageAt+0xc00, 24, "_thread.lock")
		put(lock, lockWord, pyMutexLocked)
		g.put(ofWaiter-parkedBefore, lock+lockWord+l.headExtra)
		r.locks.addRLock(rlock, r.locks.lockType(rlock))
		for q, want := range map[uint64]managed.WaitAnswer{
			semaphore: {Kind: waits.Mutex, Class: languages.PythonRLock, Address: semaphore, Owner: 4711,
				OwnerName: "owner"},
			ofWaiter: {Kind: waits.Semaphore, Class: languages.PythonLock, Address: lock + lockWord + l.headExtra},
		} {
			if w, ok := r.locks.waiting(&managed.WaitQuery{Word: q, Live: g}); !ok || !reflect.DeepEqual(w, want) {
				t.Errorf("%s: %+v, want %+v", build, w, want)
			}
		}
		if !r.locks.isTaken(lock, r.locks.lockType(lock)) || !r.locks.isTaken(rlock, r.locks.lockType(rlock)) {
			t.Errorf("%s: a lock is free", build)
		}
	}
}
