// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// # Validity of names
//
// Names are read after the copy of the stack. Class memory is reused only after a collection that unloads a class, for
// a class of a new loader. So data are valid if equal before and after the copy, or without a collection between the
// state before the copy and now, or if no new loader was seen for newLoadersFor: a new one may have an old one's
// address. One check serves all objects of a batch, unlike [managed.Prove].
//
//	state ── collection ── copy ── names read ── state     doubtful for newLoadersFor after a new loader
//	state ── copy ── names read ── state                   valid
//
// validity decides whether later reads are as of the copy.
type validity struct {
	vm       *VM
	sample   *managed.Sample
	copiedAt int64 // in nanoseconds of CLOCK_MONOTONIC; 0 means unknown

	previous, latest classMemoryState
	mayBeReused      bool
	newLoadersUntil  int64 // in nanoseconds of CLOCK_MONOTONIC
}

// newLoadersFor is how long after a new class loader more are expected.
const newLoadersFor = int64(10 * time.Second)

// classMemoryState changes when class memory may have been reused.
type classMemoryState struct {
	readAt      int64 // in nanoseconds of CLOCK_MONOTONIC
	collections uint32
	loaders     uint64 // newest ClassLoaderData
}

func (v *validity) beginWalk(s *managed.Sample) {
	v.sample, v.copiedAt, v.mayBeReused = s, s.At, false
	v.vm.cached.drop()
	if v.vm.nameLayout != nil && s.At > v.latest.readAt {
		v.previous, v.latest = v.latest, v.readClassMemoryState()
		v.expectLoaders(v.latest)
	}
}

func (v *validity) expectLoaders(current classMemoryState) {
	if v.previous.readAt != 0 && v.previous.loaders != current.loaders {
		v.newLoadersUntil = current.readAt + newLoadersFor
	}
}

// readClassMemoryState reads the process, not the cache.
func (v *validity) readClassMemoryState() classMemoryState {
	out, l := classMemoryState{readAt: procmem.Now()}, v.vm.layout
	m := &v.vm.mem
	m.from, m.err = v.vm.host, nil
	heap := m.word(l.staticAddress("Universe::_collectedHeap"))
	out.loaders = m.word(l.staticAddress("ClassLoaderDataGraph::_head"))
	out.collections = uint32(m.int32(heap + l.offset("CollectedHeap::_total_collections")))
	return out
}

// doubted reports whether memory may have been reused since the copy. It was not if the thread has not run since.
func (v *validity) doubted() bool {
	if v.mayBeReused || v.copiedAt == 0 {
		return v.mayBeReused
	}
	current := v.readClassMemoryState()
	v.expectLoaders(current)
	if v.previous.collections != current.collections &&
		(v.previous.readAt == 0 || current.readAt < v.newLoadersUntil) {
		live := v.sample.Live
		v.mayBeReused = live == nil || !live.Unchanged()
	}
	return v.mayBeReused
}

// cookieOf is 0 if the method may have changed since the copy.
func (v *validity) cookieOf(m *method) uint64 {
	if m.since >= v.copiedAt && v.doubted() {
		return 0
	}
	return m.cookie
}

func (v *validity) word(addr uint64) (uint64, bool) { return v.sample.Mem.Word(addr) }
