// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// sleeper is a process with one thread in the C library's list (managed, threadpointers.go).
type sleeper struct{ image }

const (
	sleeperAt  = 1 << 32
	sleeperTID = 102
)

func (*sleeper) OwnSymbols(_ *frames.Module, names ...string) (list []managed.Symbol) {
	for i, name := range names { // in the order of the structures below
		list = append(list, managed.Symbol{Name: name, Addr: sleeperAt + 16*uint64(i)})
	}
	return list
}

func TestUnstoppedSleepersHaveTheirGlobals(t *testing.T) {
	const head, thread = sleeperAt + 0x200, sleeperAt + 0x400
	m := &sleeper{image{at: sleeperAt, bytes: make([]byte, 0x1000)}}
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(m.bytes[at-sleeperAt:], v) }
	// The descriptors' last words: of both lists in _rtld_global, of the list and the number in a thread's structure.
	for i, offset := range []uint64{head - sleeperAt, head - sleeperAt, 16, 32} {
		binary.LittleEndian.PutUint32(m.bytes[16*(i+1)+8:], uint32(offset))
	}
	put(sleeperAt+16*5, 64) // the structure's size
	put(head, thread+16)
	put(thread+16, head)
	put(thread+24, head)
	put(thread+32, sleeperTID)
	put(thread-8, 0x7000)
	r := &Runtime{host: m, threadSafe: true, tls: -8, executorOffset: 0x100}
	r.threads.Find(m)
	for _, c := range []struct {
		tid     int
		pointer uint64
		want    uint64
	}{{sleeperTID, 0, 0x7100}, {7, thread, 0x7100}, {7, 0, 0}} {
		if at, ok := r.Anchor(c.tid, c.pointer); ok != (c.want != 0) || ok && at != c.want {
			t.Errorf("thread %d, %#x: %#x, %v", c.tid, c.pointer, at, ok)
		}
	}
}
