// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// # When names hold
//
// Names are read some time after the copy of the stack. Until then a class may have been unloaded, and its memory
// used for another one. What is the same before the copy and after it was the same in it. For what is met for the
// first time, there is no before. Then it counts that memory of classes is used again only for classes of a new
// loader, and only after a collection. Both are counted by the machine, in two words that are read once for all
// looks of a batch. They are read once more when something that was met for the first time has been read. The word
// for loaders is the address of the newest one's data, which can be that of one that was freed. While loaders come
// and go, a collection alone is doubt.

// moments knows how far the machine's memory can have been used again since a copy.
type moments struct {
	at            int64 // of the copy; names that were read later than that hold
	before, after moment
	doubt         bool  // memory may have been used again since the copy of this walk
	sure          int   // how often memory had been read when there was no doubt, plus one; 0: that was never
	churns        int64 // until then loaders are taken to come and go, CLOCK_MONOTONIC ns
	heap          uint64
	counts        [3]frames.Region
	words         [3][8]byte
}

// churnFor is how long after a new class loader was seen more are expected, in nanoseconds.
const churnFor = 10e9

// moment is what the machine has counted by then.
type moment struct {
	at          int64 // CLOCK_MONOTONIC ns
	collections uint32
	loaders     uint64 // the newest class loader's data
}

// clock gives the time.
func (n *Names) clock() int64 { return procmem.Now() }

// walk begins a walk.
func (n *Names) walk(s *managed.Sample) {
	n.at, n.doubt, n.sure = s.At, false, 0
	n.v.near.drop() // it was read before this copy, or for another one
	if n.l != nil && s.At > n.after.at {
		n.before, n.after = n.after, n.moment()
		n.churn(n.after)
	}
}

// churn takes note of a new class loader.
func (n *Names) churn(now moment) {
	if n.before.at != 0 && n.before.loaders != now.loaders {
		n.churns = now.at + churnFor
	}
}

// moment reads the counts.
func (n *Names) moment() moment {
	l, out := n.v.layout, moment{at: n.clock()}
	static, total := l.static("Universe::_collectedHeap"), l.off("CollectedHeap::_total_collections")
	n.words = [3][8]byte{}
	heap, head, count := n.words[0][:], n.words[1][:], n.words[2][:4]
	n.counts = [3]frames.Region{{Addr: static, Bytes: heap}, {Addr: l.static("ClassLoaderDataGraph::_head"), Bytes: head},
		{Addr: n.heap + total, Bytes: count}}
	read := 0
	if gather := n.v.o.Gather; gather != nil && n.heap != 0 {
		read = gather(n.counts[:])
	}
	if read < len(n.counts) || wordAt(heap) != n.heap { // the first time, and in a core
		m := &n.v.mem
		m.read, m.failed = n.v.o.Read, false
		m.bytes(static, heap)
		m.bytes(n.counts[1].Addr, head)
		n.heap = wordAt(heap)
		m.bytes(n.heap+total, count)
	}
	out.collections, out.loaders = uint32(int32At(count)), wordAt(head)
	return out
}

// doubted reports whether what is in memory now may not be what was there at the time of the copy. Of a thread that has
// not run since, all is there that its frames refer to.
func (n *Names) doubted() bool {
	if n.doubt || n.at == 0 {
		return n.doubt
	}
	reads := n.v.near.reads + 1
	if n.sure == reads {
		return false // nothing was read since
	}
	now := n.moment()
	n.churn(now)
	if n.before.collections != now.collections && (n.before.at == 0 || now.at < n.churns) {
		live := n.sample.Live
		n.doubt = live == nil || !live.Unchanged()
	}
	n.sure = reads
	return n.doubt
}
