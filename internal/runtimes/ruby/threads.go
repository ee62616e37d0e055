// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

type threads struct {
	list []thread
	read int64 // CLOCK_MONOTONIC ns
}

type thread struct {
	at      uint64 // rb_thread_t
	pthread uint64
	tid     int // 0: unknown
}

const (
	maxRactors         = 1 << 10
	maxThreads         = 1 << 15
	rereadThreadsAfter = 15e6 // ns between readings for unknown threads
)

func (m *rubyVM) readThreads() {
	t := &m.threads
	t.list, t.read = t.list[:0], procmem.Now()
	if m.vmThreads != 0 {
		m.readList(m.addr + uint64(m.vmThreads))
		return
	}
	head := m.addr + uint64(m.vmRactors)
	at := m.word(head)
	for n := 0; at != 0 && at != head && n < maxRactors; n++ {
		m.readList(at - uint64(m.ractorNode) + uint64(m.ractorThreads))
		at = m.word(at)
	}
}

func (m *rubyVM) readList(head uint64) {
	t := &m.threads
	for at := m.word(head); at != 0 && at != head && len(t.list) < maxThreads; at = m.word(at) {
		if m.word(at+uint64(m.threadVM)) != m.addr {
			return
		}
		th := thread{at: at}
		native := m.word(at + uint64(m.threadNative))
		if m.nativeID == 0 {
			th.pthread = native
		} else if native != 0 {
			th.pthread = m.word(native + uint64(m.nativeID))
			th.tid = int(int32(m.word(native + uint64(m.nativeTID))))
		}
		if th.tid == 0 && th.pthread != 0 {
			th.tid = int(int32(m.word(th.pthread + managed.PthreadTID)))
		}
		t.list = append(t.list, th)
	}
}

func (m *rubyVM) anchor(tid int, pthread uint64) (uint64, bool) {
	if th := m.findThread(tid, pthread); th != nil {
		return th.at, true
	}
	if procmem.Now()-m.threads.read < rereadThreadsAfter {
		return 0, false
	}
	m.readThreads()
	if th := m.findThread(tid, pthread); th != nil {
		return th.at, true
	}
	return 0, false
}

// findThread searches by pthread_t if known, else by thread ID.
func (m *rubyVM) findThread(tid int, pthread uint64) *thread {
	for i := range m.threads.list {
		th := &m.threads.list[i]
		if pthread != 0 && th.pthread == pthread || pthread == 0 && th.tid == tid && tid != 0 {
			return th
		}
	}
	return nil
}
