// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
)

// # Reading little
//
// Each read of another process is a system call, and in it each page costs a search, five times as much as copying
// the whole page. So what is read for one question or one walk is read in pages, and kept until its end. Places that
// are known to be needed are read in one call. A question that needs two readings of the same memory says where the
// second begins.

const (
	nearUnit = pageSize // bytes of a unit, at most: they never cross a page
	maxNear  = 512      // units that are kept
	// blockUnits is how many of them have their memory together.
	blockUnits = 32
	// maxTogether is how many units a place may have that is read by way of them.
	maxTogether = 4

	// endOfMemory is where the kernel's begins, with four levels of page tables on x86-64 and on arm64.
	endOfMemory    = 1 << 47
	endOfMemoryA64 = 1 << 48

	indexBits = 10 // of the table of units: twice as many as there are
	unread    = -1

	// maxParts is how many places one call reads (procmem.MaxParts), and maxFailed how many of them may fail before the
	// rest waits until it is asked for.
	maxParts  = procmem.MaxParts
	maxFailed = 4
)

// near reads memory for one question.
type near struct {
	v       *VM
	unit    uint64 // a power of two
	end     uint64 // of the addresses that a program has
	on      bool
	since   int64 // nothing that is kept was read before, CLOCK_MONOTONIC ns
	count   int
	asked   int // units from here on are wanted, and not read yet
	reads   int // how often memory was read
	last    int // the unit that was read last
	at      [maxNear]uint64
	size    [maxNear]int // bytes that were read of a unit, or unread
	index   [1 << indexBits]uint16
	blocks  [maxNear / blockUnits][]byte // of the units, made when they are needed first
	parts   [maxParts]frames.Region
	units   [maxParts]unitRange
	through func(uint64, []byte) int // the method Read
}

// unitRange is the units of a part.
type unitRange struct{ first, end int }

func newNear(v *VM) *near {
	k := &near{v: v, unit: nearUnit, end: endOfMemory}
	if v.o.Arch == frames.AArch64 {
		k.end = endOfMemoryA64
	}
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
func (k *near) drop() {
	if k.count != 0 {
		k.count, k.asked = 0, 0
		clear(k.index[:])
	}
}

// Read reads memory, and keeps it.
func (k *near) Read(addr uint64, b []byte) (done int) {
	if i := k.last; i < k.count { // mostly
		if off := addr - k.at[i]; k.size[i] > 0 && off < uint64(k.size[i]) && uint64(len(b)) <= uint64(k.size[i])-off {
			return copy(b, k.kept(i)[off:])
		}
	}
	if uint64(len(b)) > maxTogether*k.unit {
		k.reads++
		return k.v.o.Read(addr, b)
	}
	if first, last := addr&^(k.unit-1), (addr+uint64(len(b))-1)&^(k.unit-1); first < last {
		k.fetch(extent{addr, uint64(len(b))})
	}
	for done < len(b) {
		at := addr + uint64(done)
		i := k.load(at &^ (k.unit - 1))
		off := at & (k.unit - 1)
		if off >= uint64(k.size[i]) {
			return done
		}
		k.last = i
		done += copy(b[done:], k.kept(i)[off:k.size[i]])
	}
	return done
}

// kept is where the bytes of a unit are.
func (k *near) kept(i int) []byte { return k.following(i, i+1) }

// following is that of several units of one block.
func (k *near) following(first, end int) []byte {
	from := first % blockUnits
	return k.blocks[first/blockUnits][from*nearUnit : (from+end-first)*nearUnit]
}

// slotOf gives where the search for a unit begins in the table.
func slotOf(at uint64) uint64 { return at * 0x9e3779b97f4a7c15 >> (64 - indexBits) } // Fibonacci hashing

// find gives which unit is the one at an address, −1 if none is.
func (k *near) find(at uint64) int {
	for p := slotOf(at); ; p = (p + 1) % uint64(len(k.index)) {
		i := int(k.index[p]) - 1
		if i < 0 || k.at[i] == at {
			return i
		}
	}
}

// slot makes room for a unit. When there is no more, all others go.
func (k *near) slot(at uint64) int {
	if k.count == maxNear {
		k.drop()
	}
	i, p := k.count, slotOf(at)
	for k.index[p] != 0 {
		p = (p + 1) % uint64(len(k.index))
	}
	if b := &k.blocks[i/blockUnits]; *b == nil {
		*b = make([]byte, blockUnits*nearUnit)
	}
	k.index[p] = uint16(i + 1)
	k.at[i], k.size[i] = at, unread
	k.count++
	return i
}

// load gives the unit at an address, read if it was not.
func (k *near) load(at uint64) int {
	i := k.find(at)
	if i < 0 {
		i = k.slot(at)
	}
	if k.size[i] == unread {
		k.reads++
		k.size[i] = max(k.v.o.Read(at, k.kept(i)[:k.unit]), 0)
	}
	return i
}

// extent is a place that will be read, with its size.
type extent struct{ addr, size uint64 }

// gathers reports whether several places can be read in one call.
func (k *near) gathers() bool { return k.on && k.v.o.Gather != nil }

// want notes a place that will be read. An address of 0 is none, nor is one that no program has.
func (k *near) want(p extent) {
	if p.addr < nearUnit || p.addr >= k.end || p.size == 0 || p.size > maxTogether*k.unit || !k.gathers() {
		return
	}
	for at := p.addr &^ (k.unit - 1); at < p.addr+p.size && k.count < maxNear; at += k.unit {
		if k.find(at) < 0 {
			k.slot(at)
		}
	}
}

// get reads what is wanted, in the order in which it was noted, in as few calls as can be.
func (k *near) get() {
	if k.gathers() {
		k.gather(k.asked)
		k.asked = k.count
	}
}

// fetch reads what is not there of some places, in one call if that can be had. Their order is that in which they are
// read.
func (k *near) fetch(places ...extent) {
	for _, p := range places {
		k.want(p)
	}
	k.get()
}

// again reads all that is kept once more, in the same order.
func (k *near) again() {
	if k.v.o.Gather == nil {
		k.drop()
		return
	}
	for i := range k.count {
		k.size[i] = unread
	}
	k.gather(0)
}

// gather reads the units from one on that are not read. Those that cannot be read so are read when they are asked for.
func (k *near) gather(from int) {
	for failed := 0; from < k.count && failed < maxFailed; {
		n, next := k.collect(from)
		if n == 0 {
			return
		}
		k.reads++
		whole := min(max(k.v.o.Gather(k.parts[:n]), 0), n)
		for _, u := range k.units[:whole] {
			for i := u.first; i < u.end; i++ {
				k.size[i] = int(k.unit)
			}
		}
		if from = next; whole < n {
			from = k.units[whole].end
			failed++
		}
	}
}

// collect fills the parts of one call, with units from one on that are not read, and gives where the next call goes on.
// Units that follow each other in memory are one part.
func (k *near) collect(from int) (n, next int) {
	for i := from; i < k.count; i++ {
		if k.size[i] != unread {
			continue
		}
		if n > 0 && k.unit == nearUnit && k.units[n-1].end == i && k.at[i-1]+nearUnit == k.at[i] && i%blockUnits != 0 {
			k.units[n-1].end++
			k.parts[n-1].Bytes = k.following(k.units[n-1].first, i+1)
			continue
		}
		if n == maxParts {
			return n, i
		}
		k.units[n] = unitRange{i, i + 1}
		k.parts[n] = frames.Region{Addr: k.at[i], Bytes: k.kept(i)[:k.unit]}
		n++
	}
	return n, k.count
}
