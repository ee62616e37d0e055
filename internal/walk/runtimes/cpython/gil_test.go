// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"testing"

	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

const (
	gilBase  = 1 << 32 // _PyRuntime
	gilState = 7 << 32 // has the lock
	gilOther = 8 << 32
)

func gilWords(interval, holder, locked, count uint64) (b []byte) {
	for _, v := range []uint64{interval, holder, locked, count} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func withGIL(size int, parts map[int][]byte) (*Runtime, *image) {
	m := &image{gilBase, make([]byte, size)}
	for at, b := range parts {
		copy(m.bytes[at:], b)
	}
	r := newParts(&interpreter{layout: layouts[12], at: gilBase, size: uint64(size), host: m})
	r.threads.list = []thread{{at: gilState, id: 1, native: 41}, {at: gilOther, id: 2, native: 42}}
	r.threads.next = 1 << 62 // still valid
	r.names.allReadAt, r.names.names = 1<<62, map[uint64]string{41: "MainThread"}
	return r, m
}

func TestTheLockIsFoundByItsContents(t *testing.T) {
	lock := gilWords(defaultSwitchInterval, gilState, 1, 9)
	one, two := gilWords(1, gilState, 1, 9), gilWords(2, gilState, 1, 9)
	for _, c := range []struct {
		what  string
		parts map[int][]byte
		want  uint64
		found bool
	}{
		{"nothing", nil, 0, false},
		{"taken", map[int][]byte{512: lock}, gilBase + 512, true},
		{"free", map[int][]byte{512: gilWords(defaultSwitchInterval, gilOther, 0, 9)}, gilBase + 512, true},
		{"not made yet", map[int][]byte{512: gilWords(defaultSwitchInterval, gilState, 1<<32-1, 9)}, 0, false},
		{"never taken", map[int][]byte{512: gilWords(defaultSwitchInterval, gilState, 1, 0)}, 0, false},
		{"of a stranger", map[int][]byte{512: gilWords(defaultSwitchInterval, 9<<32, 1, 9)}, 0, false},
		{"without an interval", map[int][]byte{512: gilWords(0, gilState, 1, 9)}, 0, false},
		{"another interval", map[int][]byte{512: gilWords(100, gilState, 1, 9)}, gilBase + 512, true},
		{"beside one alike", map[int][]byte{512: lock, 1024: gilWords(100, gilState, 1, 9)}, gilBase + 512, true},
		{"twice", map[int][]byte{512: lock, 1024: lock}, 0, true},
		{"twice, of other intervals", map[int][]byte{512: one, 1024: two}, 0, true},
		{"over the edge of a piece", map[int][]byte{gilPiece - 16: lock}, gilBase + gilPiece - 16, true},
		{"at the edge of a piece", map[int][]byte{gilPiece - gilHead: lock}, gilBase + gilPiece - gilHead, true},
		{"at the end", map[int][]byte{3*gilPiece - gilHead: lock}, gilBase + 3*gilPiece - gilHead, true},
		{"beyond the end", map[int][]byte{3*gilPiece - 16: lock}, 0, false},
	} {
		r, _ := withGIL(3*gilPiece, c.parts)
		if found := r.gil.find(); r.gil.at != c.want || found != c.found {
			t.Errorf("%s: %#x, %v, want %#x, %v", c.what, r.gil.at, found, c.want, c.found)
		}
	}
}

type sleepLive struct {
	*image
	same bool
}

func (l sleepLive) Unchanged() bool { return l.same }

func TestAWaiterNamesTheHolderThatWasCopied(t *testing.T) {
	const lock = gilBase + 512
	told := managed.WaitAnswer{Kind: waits.GIL, Address: lock, Owner: 41, OwnerName: "MainThread"}
	none := managed.WaitAnswer{Kind: waits.GIL, Address: lock}
	later := managed.WaitAnswer{Kind: waits.GIL, Address: lock, Later: true}
	taken := gilWords(defaultSwitchInterval, gilState, 1, 9)
	other := gilWords(defaultSwitchInterval, gilOther, 1, 10)
	for _, c := range []struct {
		what        string
		word        uint64
		copied, now []byte // nil if not copied
		same        bool
		want        managed.WaitAnswer
		ok          bool
	}{
		{"copied", lock + gilCond, taken, other, false, told, true},
		{"the last word of the condition variable", lock + gilCondEnd - 4, taken, other, false, told, true},
		{"before it", lock + gilCond - 4, taken, other, false, managed.WaitAnswer{}, false},
		{"behind it", lock + gilCondEnd, taken, other, false, managed.WaitAnswer{}, false},
		{"free", lock + gilCond, gilWords(defaultSwitchInterval, gilState, 0, 9), taken, false, none, true},
		{"the holder has ended", lock + gilCond, gilWords(defaultSwitchInterval, 9<<32, 1, 9), taken, false, none, true},
		{"read now, asleep still", lock + gilCond, nil, taken, true, told, true},
		{"read now, it has run", lock + gilCond, nil, taken, false, later, true},
		{"not to be read", lock + gilCond, nil, nil, true, later, true},
	} {
		r, m := withGIL(4096, map[int][]byte{512: c.now})
		r.gil.at = lock
		if c.now == nil {
			m.bytes = nil
		}
		q := &managed.WaitQuery{InnerTID: 42, Word: c.word, Live: sleepLive{m, c.same}}
		if c.copied != nil {
			q.Mem = &image{lock, c.copied}
		}
		if w, ok := r.Waiting(q); w != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v, want %+v, %v", c.what, w, ok, c.want, c.ok)
		}
	}
	r, _ := withGIL(4096, nil)
	if w, ok := r.Waiting(&managed.WaitQuery{Word: gilCond}); ok {
		t.Errorf("no lock is known: %+v", w)
	}
}

func TestInterpreterLockIsSearchedUntilFound(t *testing.T) {
	const lock = gilBase + 512
	r, m := withGIL(4096, map[int][]byte{512: gilWords(defaultSwitchInterval, 9<<32, 0, 9)})
	query := &managed.WaitQuery{InnerTID: 42, Word: lock + gilCond, Live: sleepLive{m, true}}
	if r.gil.find() {
		t.Fatal("a lock whose holder is not known was found")
	}
	if w, ok := r.Waiting(query); ok {
		t.Errorf("no lock is there yet: %+v", w)
	}
	copy(m.bytes[512:], gilWords(defaultSwitchInterval, gilState, 1, 10))
	if w, ok := r.Waiting(query); ok {
		t.Errorf("it was sought twice at once: %+v", w)
	}
	r.gil.lastSearch -= searchEvery
	if w, ok := r.Waiting(query); !ok || w.Owner != 41 {
		t.Errorf("sought again: %+v, %v", w, ok)
	}
	if r.Plan() == nil {
		t.Error("its place is not in the plan")
	}
}

func FuzzGIL(f *testing.F) {
	f.Add(append(make([]byte, 64), gilWords(defaultSwitchInterval, gilState, 1, 9)...), uint64(64+gilCond), true)
	f.Add(append(make([]byte, 64), gilWords(defaultSwitchInterval, gilOther, 0, 9)...), uint64(64+gilCond), false)
	f.Add([]byte{1, 2, 3}, uint64(0), true)
	f.Fuzz(func(t *testing.T, b []byte, word uint64, copied bool) {
		r, m := withGIL(len(b), map[int][]byte{0: b})
		r.gil.find()
		q := &managed.WaitQuery{InnerTID: 42, Word: gilBase + word, Live: m}
		if copied {
			q.Mem = m
		}
		w, ok := r.Waiting(q)
		if !ok && w != (managed.WaitAnswer{}) || w.Owner != 0 && w.Owner != 41 && w.Owner != 42 ||
			w.Owner != 0 && r.gil.at == 0 {
			t.Errorf("%+v, %v", w, ok)
		}
	})
}
