// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

const (
	vmAt      = 64
	waiterAt  = 1024
	ownerAt   = 1536
	waiterEC  = 2048
	ownerEC   = 2304
	inFiber   = 96
	frameAt   = 2560
	valueAt   = 2816
	typeAt    = 3072
	structAt  = 3136
	pthreadAt = 4096
	waitsSize = 6144
	waitsFrom = 1 << 32
	waitsCode = 1 << 20
	waiterTID = 7
	ownerTID  = 9
)

type words map[int]uint64

// waits31 is a thread of 3.1 in a blocking region, whose innermost frame has a receiver of a type in C, and another
// thread.
func waits31(at uint64, typ string, more words) []byte {
	b := make([]byte, waitsSize)
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(b[off:], v) }
	for th, ec := range map[int]int{waiterAt: waiterEC, ownerAt: ownerEC} {
		put(th+32, at+vmAt)
		put(th+40, at+uint64(ec))
		put(ec+40, at+uint64(ec-inFiber))
		put(ec+48, at+uint64(th))
		put(ec+ecFrame, at+frameAt)
	}
	put(waiterAt+80, at+pthreadAt)
	put(ownerAt+80, at+pthreadAt+1024)
	put(pthreadAt+managed.PthreadTID, waiterTID)
	put(pthreadAt+1024+managed.PthreadTID, ownerTID)
	put(waiterAt+248, waitsCode+8)
	put(frameAt+frameSelf, at+valueAt)
	put(frameAt+64+frameSelf, at+valueAt)
	put(valueAt, typeData)
	put(valueAt+dataType, at+typeAt)
	put(valueAt+dataStart, at+structAt)
	put(typeAt, at+typeAt+8)
	copy(b[typeAt+8:], typ)
	for off, v := range more {
		put(off, v)
	}
	return b
}

func waitsOf(b []byte, at uint64, l layout) (managed.WaitAnswer, bool) {
	m := &image{at, b}
	r := newRuntime(m, &frames.Module{Name: "libruby.so"}, &l)
	r.tagged.code = managed.Span{Start: waitsCode, End: waitsCode + 1<<12}
	r.vm.addr = at + vmAt
	r.vm.threads.list = []thread{{at: at + waiterAt, tid: waiterTID}, {at: at + ownerAt, tid: ownerTID}}
	return r.Waiting(&managed.WaitQuery{InnerTID: waiterTID, Word: 8, Mem: m, Live: m})
}

func TestWaitsAreProvenOrNotGiven(t *testing.T) {
	const at = waitsFrom
	const fiber = at + ownerEC - inFiber
	ruby31, _ := layoutOf("3.1")
	const locking, target, joiners = waiterAt + 264, valueAt + dataStart, ownerAt + 280
	held := managed.WaitAnswer{Kind: waits.Mutex, Class: "Thread::Mutex", Address: at + structAt, Owner: ownerTID}
	unowned, passed := held, held
	unowned.Owner, passed.Owner, passed.Later = 0, 0, true
	queue := managed.WaitAnswer{Kind: waits.ObjectWait, Class: "Thread::Queue", Address: at + structAt}
	embedded := queue
	embedded.Address = at + valueAt + dataStart
	join := managed.WaitAnswer{Kind: waits.Join, Address: at + ownerAt, Owner: ownerTID}
	for name, c := range map[string]struct {
		typ  string
		more words
		want managed.WaitAnswer
	}{
		"a mutex":            {"mutex", words{locking: at + valueAt, structAt: fiber}, held},
		"a free one":         {"mutex", words{locking: at + valueAt}, passed},
		"no fiber":           {"mutex", words{locking: at + valueAt, structAt: fiber + 8}, unowned},
		"another's fiber":    {"mutex", words{locking: at + valueAt, structAt: fiber, ownerEC + 40: 1}, unowned},
		"a thread's number":  {"mutex", words{locking: at + valueAt, structAt: 5, structAt + 8: at + ownerAt}, held},
		"no thread":          {"mutex", words{locking: at + valueAt, structAt: fiber, ownerEC + 48: at + 8}, unowned},
		"no virtual machine": {"mutex", words{locking: at + valueAt, structAt: fiber, ownerAt + 32: 8}, unowned},
		"its own":            {"mutex", words{locking: at + valueAt, structAt: at + waiterEC - inFiber}, unowned},
		"another type":       {"queue", words{locking: at + valueAt, structAt: fiber}, managed.WaitAnswer{}},
		"no object": {"mutex", words{locking: at + valueAt, structAt: fiber, valueAt: 5},
			managed.WaitAnswer{}},
		"no blocking region": {"queue", words{waiterAt + 248: 0}, managed.WaitAnswer{}},
		"a queue":            {"queue", nil, queue},
		"Mutex#sleep":        {"mutex", nil, managed.WaitAnswer{Kind: waits.Sleep}},
		"a join":             {"VM/thread", words{target: at + ownerAt, joiners: at + 512, 520: at + waiterAt}, join},
		"not in the list":    {"VM/thread", words{target: at + ownerAt, joiners: at + 512}, managed.WaitAnswer{}},
		"a list without end": {"VM/thread", words{target: at + ownerAt, joiners: at + 512, 512: at + 512},
			managed.WaitAnswer{}},
		"an embedded one": {"queue", words{valueAt + dataTypeFrom4: 3}, embedded},
		"the type's place of 4.0": {"queue", words{valueAt + dataType: 0, valueAt + dataTypeFrom4: at + typeAt + 1},
			queue},
	} {
		got, ok := waitsOf(waits31(at, c.typ, c.more), at, ruby31)
		if got != c.want || ok != (c.want.Kind != waits.NoWait) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, ok, c.want)
		}
	}
	if got, ok := waitsOf(append(waits31(at, "queue", nil), 0), at, ruby31); ok || !got.Later {
		t.Errorf("a thread that has run: %+v, %v", got, ok)
	}
}

func FuzzWaits(f *testing.F) {
	const at = waitsFrom
	for _, typ := range []string{"mutex", "monitor", "VM/thread", "queue", "condvar"} {
		f.Add(waits31(at, typ, nil), uint8(2))
		f.Add(waits31(at, typ, words{waiterAt + 264: at + valueAt, structAt: at + ownerEC - inFiber}), uint8(2))
	}
	f.Fuzz(func(t *testing.T, b []byte, release uint8) {
		w, ok := waitsOf(b, at, layouts[int(release)%len(layouts)])
		if w.Owner != 0 && (!ok || w.Owner == waiterTID && w.Kind == waits.Mutex) {
			t.Errorf("%+v, %v", w, ok)
		}
	})
}
