// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"cmp"
	"slices"

	"prywalk/internal/host/procmem"
)

// threadIndex finds the threads that had a word when last read: in their stack's bounds, their number, an object on
// their lock stack, or its monitor.
type threadIndex struct {
	complete    []wordRange // of the last complete reading, ascending by from
	growing     []wordRange // of the current reading, likewise
	unread      []int       // ids of threads that it lacks
	completedAt int64       // CLOCK_MONOTONIC ns; 0: never
}

type wordRange struct {
	from, to uint64
	tid      int
}

func (x *threadIndex) find(word uint64, accept func(tid int) bool) bool {
	for _, list := range [...][]wordRange{x.growing, x.complete} {
		i, _ := slices.BinarySearchFunc(list, word, func(r wordRange, word uint64) int {
			if r.from <= word {
				return -1
			}
			return 1
		})
		for i--; i >= 0 && word < list[i].to; i-- {
			if accept(list[i].tid) {
				return true
			}
		}
	}
	return false
}

func (x *threadIndex) add(from, to uint64, tid int) {
	x.growing = append(x.growing, wordRange{from, to, tid})
}

type readingPace struct{ begun, ended int64 } // of the last reading, CLOCK_MONOTONIC ns; 0: none

// The first reading is of all threads (half a second for 65,536), later ones of at most maxReadThreads. The pause
// after a reading is restRatio times as long.
const (
	maxReadThreads = 2048
	restRatio      = 20
)

func (p *readingPace) begin() bool {
	now := procmem.Now()
	if p.begun != 0 && now-p.ended < restRatio*(p.ended-p.begun) {
		return false
	}
	p.begun = now
	return true
}

func (p *readingPace) end() { p.ended = procmem.Now() }

// readThreads continues the current reading, or begins one if the last ended rest ns ago. A core's threads are read
// once. read: some were read; later: not all have been.
func (t *waiters) readThreads(rest int64) (read, later bool) {
	x := &t.index
	first := x.completedAt == 0
	switch {
	case !first && (t.still || len(x.unread) == 0 && procmem.Now()-x.completedAt < rest):
		return false, false
	case !t.still && !t.pace.begin():
		return false, true
	}
	if len(x.unread) == 0 {
		for tid := range t.byTID {
			x.unread = append(x.unread, tid)
		}
	}
	left := 0
	if !first {
		left = max(len(x.unread)-maxReadThreads, 0)
	}
	for _, tid := range x.unread[left:] {
		t.indexThread(tid)
	}
	x.unread = x.unread[:left]
	slices.SortFunc(x.growing, func(a, b wordRange) int { return cmp.Compare(a.from, b.from) })
	if left == 0 {
		x.complete, x.growing, x.completedAt = x.growing, x.complete[:0], procmem.Now()
	}
	t.pace.end()
	return true, left > 0
}

func (t *waiters) indexThread(tid int) {
	thread := t.byTID[tid].thread
	if o, ok := t.readOwner(thread); ok {
		t.index.add(o.from, o.to, tid)
	}
	if !t.layout.has(wantLockStack) {
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
