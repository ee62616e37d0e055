// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// # Validity of names
//
// Names are read after the copy of the stack, when a class may have been unloaded and its memory reused. Data equal
// before and after the copy are valid. Class memory is reused only for new class loaders, after a collection; without
// these other data are valid too. Both are read once per batch and after new data. As a loader's address can be reused,
// a collection alone makes data doubtful while loaders are created.

type validity struct {
	vm     *VM
	layout *nameLayout
	sample *managed.Sample

	at               int64 // of the copy
	previous, latest classMemoryState
	mayBeReused      bool
	checkedAtRead    int   // 1 + number of reads at the last check without reuse; 0: never
	newLoadersUntil  int64 // end of the time with new loaders, CLOCK_MONOTONIC ns
}

// newLoadersFor is how long after a new class loader more are expected, in nanoseconds.
const newLoadersFor = 10e9

type classMemoryState struct {
	at          int64 // CLOCK_MONOTONIC ns
	collections uint32
	loaders     uint64 // newest ClassLoaderData
}

func (n *validity) clock() int64 { return procmem.Now() }

func (n *validity) beginWalk(s *managed.Sample) {
	n.at, n.mayBeReused, n.checkedAtRead = s.At, false, 0
	n.vm.cached.drop()
	if n.layout != nil && s.At > n.latest.at {
		n.previous, n.latest = n.latest, n.classMemoryNow()
		n.noteLoaders(n.latest)
	}
}

func (n *validity) noteLoaders(now classMemoryState) {
	if n.previous.at != 0 && n.previous.loaders != now.loaders {
		n.newLoadersUntil = now.at + newLoadersFor
	}
}

func (n *validity) classMemoryNow() classMemoryState {
	out, l := classMemoryState{at: n.clock()}, n.vm.layout
	m := &n.vm.mem
	m.read, m.failed = n.vm.o.Read, false // not the cache
	heap := m.word(l.staticAddress("Universe::_collectedHeap"))
	out.loaders = m.word(l.staticAddress("ClassLoaderDataGraph::_head"))
	out.collections = uint32(m.int32(heap + l.offset("CollectedHeap::_total_collections")))
	return out
}

// doubted reports whether memory may have been reused since the copy. What a thread's frames refer to stays while it
// has not run.
func (n *validity) doubted() bool {
	if n.mayBeReused || n.at == 0 {
		return n.mayBeReused
	}
	reads := n.vm.cached.process.count + 1
	if n.checkedAtRead == reads {
		return false
	}
	now := n.classMemoryNow()
	n.noteLoaders(now)
	if n.previous.collections != now.collections && (n.previous.at == 0 || now.at < n.newLoadersUntil) {
		live := n.sample.Live
		n.mayBeReused = live == nil || !live.Unchanged()
	}
	n.checkedAtRead = reads
	return n.mayBeReused
}

// cookieOf gives the method's identity, 0 if it may have changed since the copy.
func (n *validity) cookieOf(m *method) uint64 {
	if m.since >= n.at && n.doubted() {
		return 0
	}
	return m.cookie
}
