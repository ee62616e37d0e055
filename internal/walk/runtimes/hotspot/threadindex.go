// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"cmp"
	"slices"
	"sort"

	"prywalk/internal/host/procmem"
)

// threadIndex finds the threads that had a word when last read: in their stack's bounds, their number, an object on
// their lock stack, or its monitor.
type threadIndex struct {
	ranges       []wordRange // ascending by from
	begun, ended int64       // the last reading, in nanoseconds of CLOCK_MONOTONIC; 0 means none
}

type wordRange struct {
	from, to uint64
	tid      int
}

func (x *threadIndex) find(word uint64, accept func(tid int) bool) bool {
	i := sort.Search(len(x.ranges), func(i int) bool { return x.ranges[i].from > word })
	for i--; i >= 0 && word < x.ranges[i].to; i-- {
		if accept(x.ranges[i].tid) {
			return true
		}
	}
	return false
}

func (x *threadIndex) add(from, to uint64, tid int) {
	x.ranges = append(x.ranges, wordRange{from, to, tid})
}

// The pause after a reading of all threads (half a second for 65,536) is restRatio times as long.
const restRatio = 20

// readThreads reads all threads unless the last reading ended rest nanoseconds ago, or (later) its pause has not
// passed. Those of a core are read once.
func (t *waiters) readThreads(rest int64) (read, later bool) {
	x, now := &t.index, procmem.Now()
	switch since := now - x.ended; {
	case x.ended != 0 && (t.still || since < rest):
		return false, false
	case x.ended != 0 && since < restRatio*(x.ended-x.begun):
		return false, true
	}
	x.begun, x.ranges = now, x.ranges[:0]
	for tid := range t.threads.byTID {
		t.indexThread(tid)
	}
	slices.SortFunc(x.ranges, func(a, b wordRange) int { return cmp.Compare(a.from, b.from) })
	x.ended = procmem.Now()
	return true, false
}

func (t *waiters) indexThread(tid int) {
	thread := t.threads.byTID[tid].thread
	if o, ok := t.readOwner(thread); ok {
		t.index.add(o.from, o.to, tid)
	}
	if !t.threads.layout.has(wantLockStack) {
		return
	}
	t.eachLocked(thread, func(object, mark uint64) bool {
		t.index.add(object, object+1, tid)
		if monitor := mark &^ 3; mark&3 == markMonitorValue && monitor != object {
			t.index.add(monitor, monitor+1, tid)
		}
		return true
	})
}
