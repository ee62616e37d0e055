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
	n.at, n.doubt = s.At, false
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
	now := n.moment()
	n.churn(now)
	if n.before.collections != now.collections && (n.before.at == 0 || now.at < n.churns) {
		live := n.sample.Live
		n.doubt = live == nil || !live.Unchanged()
	}
	return n.doubt
}

// # Reading little
//
// Each read of another process is a system call, and further bytes beside cost little. So what is read for one
// question is read in units, and kept until its end. Places that are known to be needed are read in one call. A
// question that needs two readings of the same memory says where the second begins.

const (
	nearUnit = 1 << 10 // bytes of a unit, at most: they never cross a page
	maxNear  = 32      // units that are kept
)

// near reads memory for one question.
type near struct {
	v       *VM
	unit    uint64 // a power of two
	on      bool
	since   int64 // nothing that is kept was read before, CLOCK_MONOTONIC ns
	count   int
	oldest  int // which one makes room
	at      [maxNear]uint64
	size    [maxNear]int // bytes that were read of a unit
	bytes   [maxNear][nearUnit]byte
	parts   [maxNear]frames.Region
	through func(uint64, []byte) int // the method Read
}

func newNear(v *VM) *near {
	k := &near{v: v, unit: nearUnit}
	k.through = k.Read
	return k
}

// use turns it on, and tells since when what it says holds. What was read before some moment does not count.
func (k *near) use(after int64) (since int64) {
	k.on = true
	if k.since < after {
		k.drop()
	}
	if k.count == 0 {
		k.since = procmem.Now()
	}
	return k.since
}

// done turns it off. What was read is kept.
func (k *near) done() { k.on = false }

// drop forgets what was read.
func (k *near) drop() { k.count, k.oldest = 0, 0 }

// Read reads memory, and keeps it.
func (k *near) Read(addr uint64, b []byte) (done int) {
	if uint64(len(b)) > k.unit {
		return k.v.o.Read(addr, b)
	}
	if first, last := addr&^(k.unit-1), (addr+uint64(len(b))-1)&^(k.unit-1); first < last && k.find(first) < 0 {
		k.fetch(extent{addr, uint64(len(b))})
	}
	for done < len(b) {
		at := addr + uint64(done)
		i := k.find(at &^ (k.unit - 1))
		if i < 0 {
			i = k.load(at &^ (k.unit - 1))
		}
		off := at & (k.unit - 1)
		if off >= uint64(k.size[i]) {
			return done
		}
		done += copy(b[done:], k.bytes[i][off:k.size[i]])
	}
	return done
}

// find gives which unit is the one at an address, −1 if none is.
func (k *near) find(at uint64) int {
	for i := range k.count {
		if k.at[i] == at {
			return i
		}
	}
	return -1
}

// slot makes room for a unit.
func (k *near) slot(at uint64) int {
	i := k.count
	if i == maxNear {
		i = k.oldest
		k.oldest = (i + 1) % maxNear
	} else {
		k.count++
	}
	k.at[i], k.size[i] = at, 0
	return i
}

// load reads a unit.
func (k *near) load(at uint64) int {
	i := k.slot(at)
	k.size[i] = max(k.v.o.Read(at, k.bytes[i][:k.unit]), 0)
	return i
}

// extent is a place that will be read, with its size.
type extent struct{ addr, size uint64 }

// fetch reads what is not there of some places, in one call if that can be had. Addresses of 0 are none. Their order is
// that in which they are read.
func (k *near) fetch(places ...extent) {
	if !k.on || k.v.o.Gather == nil {
		return
	}
	first := k.count
	for _, p := range places {
		if p.addr < k.unit {
			continue
		}
		for at := p.addr &^ (k.unit - 1); at < p.addr+p.size && k.count < maxNear; at += k.unit {
			if k.find(at) < 0 {
				k.slot(at)
			}
		}
	}
	k.gather(first)
}

// again reads all that is kept once more, in the same order.
func (k *near) again() {
	if k.v.o.Gather == nil {
		k.drop()
		return
	}
	k.gather(0)
}

// gather reads the units from one on. Those that cannot be read so are dropped, and are read when they are asked for.
func (k *near) gather(first int) {
	if first == k.count {
		return
	}
	for i := first; i < k.count; i++ {
		k.size[i] = int(k.unit)
		k.parts[i] = frames.Region{Addr: k.at[i], Bytes: k.bytes[i][:k.unit]}
	}
	k.count = first + k.v.o.Gather(k.parts[first:k.count])
}
