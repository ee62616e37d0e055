// SPDX-License-Identifier: Apache-2.0

package goroutines

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/managed"
)

func stackOf(functions ...string) (list []stacks.Frame) {
	for i, f := range functions {
		list = append(list, stacks.Frame{PC: 1, SP: schema.Hex(0x7000 + 0x100*i), Place: &stacks.Place{Function: f}})
	}
	return list
}

func TestWhatAGoroutineWaitsForFollowsFromItsFunctions(t *testing.T) {
	const word = 0x1000
	for _, c := range []struct {
		stack   []string
		kind    string
		address uint64
		reads   bool
	}{
		{[]string{"runtime.gopark", "main.main"}, stacks.KindSemaphore, word, false},
		{[]string{"sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock"}, stacks.KindMutex, word - managed.MutexSema, false},
		{[]string{"internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock"}, stacks.KindMutex, word - managed.MutexSema,
			false},
		{[]string{"sync.runtime_SemacquireRWMutex", "sync.(*RWMutex).Lock"}, stacks.KindRWMutex, word - managed.WriterSema,
			false},
		// the RWMutex begins with the Mutex of its writers
		{[]string{"sync.(*Mutex).lockSlow", "sync.(*RWMutex).Lock"}, stacks.KindRWMutex, word - managed.MutexSema, false},
		{[]string{"sync.(*RWMutex).RLock"}, stacks.KindRWMutex, word - managed.ReaderSema, true},
		{[]string{"sync.(*WaitGroup).Wait"}, stacks.KindWaitGroup, word, false},
		{[]string{condWait, "main.main"}, stacks.KindCond, word - condNotify, false},
		{[]string{"sync.(*Mutex).Lock", condWait}, stacks.KindMutex, word - managed.MutexSema, false},
	} {
		w := stacks.GoroutineWait{TaskWait: managed.TaskWait{Address: word}}
		setSync(&w, stackOf(c.stack...))
		if w.Kind != c.kind || w.Address != c.address || w.Reads != c.reads {
			t.Errorf("%q: %s at %#x, reads %v; want %s at %#x, %v", c.stack, w.Kind, w.Address, w.Reads, c.kind, c.address,
				c.reads)
		}
	}
}

func held(address uint64, frame int, taken uint64) stacks.HeldGoLock {
	return stacks.HeldGoLock{TaskLock: managed.TaskLock{Address: address, Taken: taken}, Frame: frame}
}

func TestAnAwaitedLockIsNotHeldByTheCallThatWaits(t *testing.T) {
	for name, c := range map[string]struct {
		holds []stacks.HeldGoLock
		want  []stacks.HeldGoLock
	}{
		"another lock":       {[]stacks.HeldGoLock{held(8, 2, 1)}, []stacks.HeldGoLock{held(8, 2, 1)}},
		"the same":           {[]stacks.HeldGoLock{held(16, 2, 1)}, nil},
		"farther in":         {[]stacks.HeldGoLock{held(16, 3, 9), held(16, 2, 1)}, []stacks.HeldGoLock{held(16, 3, 9)}},
		"later in the frame": {[]stacks.HeldGoLock{held(16, 2, 1), held(16, 2, 5)}, []stacks.HeldGoLock{held(16, 2, 1)}},
	} {
		g := &stacks.Goroutine{Awaits: []stacks.GoroutineWait{{TaskWait: managed.TaskWait{Address: 16}}}, Holds: c.holds}
		if dropAwaited(g); !slices.Equal(g.Holds, c.want) {
			t.Errorf("%s: %+v, want %+v", name, g.Holds, c.want)
		}
	}
}

// The example of doc.go.
func TestOfTwoLockedMutexesTheAwaitedOneIsNotHeld(t *testing.T) {
	const first, second = 0xc000012010, 0xc000012018
	g := &stacks.Goroutine{
		Awaits: []stacks.GoroutineWait{{TaskWait: managed.TaskWait{Address: second}}},
		Holds:  []stacks.HeldGoLock{held(first, 1, 21), held(second, 1, 22)},
	}
	if dropAwaited(g); !slices.Equal(g.Holds, []stacks.HeldGoLock{held(first, 1, 21)}) {
		t.Errorf("held: %+v", g.Holds)
	}
}

type words map[uint64]uint64

func (w words) read(addr uint64, b []byte) int {
	for n := 0; n+8 <= len(b); n += 8 {
		v, ok := w[addr+uint64(n)]
		if !ok {
			return n
		}
		binary.LittleEndian.PutUint64(b[n:], v)
	}
	return len(b)
}

func TestAWaitForAConditionHoldsNotItsMutex(t *testing.T) {
	const cond, mutex, other = 0x2000, 0x3000, 0x3100
	atCond := words{cond + condLocker: mutex, 0x7108: cond}
	atNotify := words{cond + condLocker: mutex, 0x7108: cond + condNotify}
	for name, c := range map[string]struct {
		memory words
		stack  []string
		frame  int
		left   []uint64
	}{
		"by the condition":     {atCond, []string{"runtime.gopark", condWait, "main.take"}, 2, []uint64{other}},
		"by its list":          {atNotify, []string{"runtime.gopark", condWait, "main.take"}, 2, []uint64{other}},
		"locked farther in":    {atCond, []string{"runtime.gopark", condWait, "main.take"}, 0, []uint64{mutex, other}},
		"no condition":         {atCond, []string{"runtime.gopark", "main.wait", "main.take"}, 2, []uint64{mutex, other}},
		"unreadable":           {words{}, []string{"runtime.gopark", condWait, "main.take"}, 2, []uint64{mutex, other}},
		"outermost is waiting": {atCond, []string{"runtime.gopark", condWait}, 2, []uint64{mutex, other}},
	} {
		r := &Reader{Read: c.memory.read}
		g := &stacks.Goroutine{Frames: stackOf(c.stack...), Holds: []stacks.HeldGoLock{held(mutex, c.frame, 1),
			held(other, 2, 1)}}
		r.dropUnlockedByWait(g)
		var left []uint64
		for i := range g.Holds {
			left = append(left, g.Holds[i].Address)
		}
		if !slices.Equal(left, c.left) {
			t.Errorf("%s: holds %#x, want %#x", name, left, c.left)
		}
	}
}
