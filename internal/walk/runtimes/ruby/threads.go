// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

type threads struct {
	list []thread
	next int64 // earliest next reading, in nanoseconds of CLOCK_MONOTONIC
}

type thread struct {
	at      uint64 // rb_thread_t
	next    uint64 // of its list
	pthread uint64
	tid     int // 0 means unknown
}

const (
	maxRactors         = 1 << 10
	maxThreads         = 1 << 15
	rereadThreadsAfter = int64(15 * time.Millisecond)
	// pauseForThread is some ten times what reading a thread takes. Any thread that is none of Ruby's asks for the
	// list, and an entry that leads to itself makes one of maxThreads.
	pauseForThread = int64(25 * time.Microsecond)
)

func (m *rubyVM) readThreads() {
	t := &m.threads
	t.list = t.list[:0]
	defer func() { t.next = procmem.Now() + max(rereadThreadsAfter, pauseForThread*int64(len(t.list))) }()
	if !m.heap.hasRactors() {
		m.readList(m.addr + uint64(m.heap.vmThreads))
		return
	}
	head := m.addr + uint64(m.heap.vmRactors)
	at := m.heap.word(head)
	for n := 0; at != 0 && at != head && n < maxRactors; n++ {
		m.readList(at - uint64(m.ractorNode) + uint64(m.heap.ractorThreads))
		at = m.heap.word(at)
	}
}

func (m *rubyVM) readList(head uint64) {
	t := &m.threads
	for at := m.heap.word(head); at != 0 && at != head && len(t.list) < maxThreads; {
		th, ok := m.threadAt(at)
		if !ok {
			return
		}
		t.list = append(t.list, th)
		at = th.next
	}
}

func (m *rubyVM) threadAt(at uint64) (th thread, ok bool) {
	var b [maxNativeOffset]byte
	head := b[:m.heap.threadNative+8]
	word := func(off int64) uint64 { return binary.LittleEndian.Uint64(head[off:]) }
	if !isPointer(at) || m.host.Read(at, head) != len(head) || word(m.heap.threadVM) != m.addr {
		return th, false
	}
	th.at, th.next, th.pthread = at, word(0), word(m.heap.threadNative)
	if m.heap.nativeID != 0 {
		ids, _ := m.pair(th.pthread + uint64(m.heap.nativeID))
		th.pthread, th.tid = ids[0], int(int32(ids[1]))
	}
	if th.tid == 0 && th.pthread != 0 {
		th.tid = int(int32(m.heap.word(th.pthread + managed.PthreadTID)))
	}
	return th, true
}

const maxNativeOffset = 96 // bytes

// pair reads two neighbouring words in one call.
func (m *rubyVM) pair(at uint64) (words [2]uint64, ok bool) {
	var b [16]byte
	if !isPointer(at) || m.host.Read(at, b[:]) != len(b) {
		return words, false
	}
	return [2]uint64{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}, true
}

func (m *rubyVM) anchor(tid int, pthread uint64) (uint64, bool) {
	if at, ok := m.findThread(tid, pthread); ok {
		return at, true
	}
	return m.anchorAgain(tid, pthread)
}

func (m *rubyVM) anchorAgain(tid int, pthread uint64) (uint64, bool) {
	if procmem.Now() < m.threads.next {
		return 0, false
	}
	m.readThreads()
	return m.findThread(tid, pthread)
}

// verifiedAnchor returns at, or, if that thread has ended, the present one.
func (m *rubyVM) verifiedAnchor(tid int, at uint64) (uint64, bool) {
	if th, ok := m.threadAt(at); ok && th.tid == tid {
		return at, true
	}
	return m.anchorAgain(tid, 0)
}

func (m *rubyVM) findThread(tid int, pthread uint64) (at uint64, ok bool) {
	for i := range m.threads.list {
		th := &m.threads.list[i]
		if pthread != 0 && th.pthread == pthread || pthread == 0 && th.tid == tid && tid != 0 {
			return th.at, true
		}
	}
	return 0, false
}
