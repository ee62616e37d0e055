// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
)

// # Few reads
//
// Reading another process costs a system call, and a page lookup that is dearer than the copy. So pages are cached
// during a query or walk, and known places are read in one call. Before a second pass a query calls rereadAll.

const (
	cacheUnit = pageSize // bytes at most, within a page
	maxCached = 512
	// Units with adjacent memory.
	blockUnits = 32
	// Units of the largest cached place.
	maxTogether = 4

	// End of user space with four-level page tables (x86-64, arm64).
	endOfMemory    = 1 << 47
	endOfMemoryA64 = 1 << 48

	indexBits = 10 // of a hash table with at least twice maxCached entries
	unread    = -1

	// Places per call (procmem.MaxParts), and failures after which reads are on demand.
	maxParts  = procmem.MaxParts
	maxFailed = 4
)

// readCache caches pages of the process during a query or walk.
type readCache struct {
	v           *codeCache
	unit        uint64 // power of two
	end         uint64 // of user space
	enabled     bool
	since       int64 // oldest read, CLOCK_MONOTONIC ns
	count       int
	firstUnread int // first wanted unit not read
	reads       int
	last        int
	at          [maxCached]uint64
	size        [maxCached]int // bytes read, or unread
	index       [1 << indexBits]uint16
	blocks      [maxCached / blockUnits][]byte // made on demand
	parts       [maxParts]frames.Region
	units       [maxParts]unitRange
	readThrough func(uint64, []byte) int
}

type unitRange struct{ first, end int }

func newReadCache(v *codeCache) *readCache {
	k := &readCache{v: v, unit: cacheUnit, end: endOfMemory}
	if v.o.Arch == frames.AArch64 {
		k.end = endOfMemoryA64
	}
	k.readThrough = k.Read
	return k
}

// enable enables the cache, drops reads before after, and gives the time of the oldest read.
func (k *readCache) enable(after int64) (since int64) {
	k.enabled = true
	if k.since < after {
		k.drop()
	}
	if k.count == 0 {
		k.since = procmem.Now()
	}
	return k.since
}

func (k *readCache) disable() { k.enabled = false }

func (k *readCache) drop() {
	if k.count != 0 {
		k.count, k.firstUnread = 0, 0
		clear(k.index[:])
	}
}

// Read reads through the cache.
func (k *readCache) Read(addr uint64, b []byte) (done int) {
	if i := k.last; i < k.count {
		if off := addr - k.at[i]; k.size[i] > 0 && off < uint64(k.size[i]) && uint64(len(b)) <= uint64(k.size[i])-off {
			return copy(b, k.unitBytes(i)[off:])
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
		done += copy(b[done:], k.unitBytes(i)[off:k.size[i]])
	}
	return done
}

func (k *readCache) unitBytes(i int) []byte { return k.following(i, i+1) }

func (k *readCache) following(first, end int) []byte {
	from := first % blockUnits
	return k.blocks[first/blockUnits][from*cacheUnit : (from+end-first)*cacheUnit]
}

func slotOf(at uint64) uint64 { return at * 0x9e3779b97f4a7c15 >> (64 - indexBits) } // Fibonacci hashing

func (k *readCache) find(at uint64) int {
	for p := slotOf(at); ; p = (p + 1) % uint64(len(k.index)) {
		i := int(k.index[p]) - 1
		if i < 0 || k.at[i] == at {
			return i
		}
	}
}

// slot adds a unit that is to be read; a full cache is cleared.
func (k *readCache) slot(at uint64) int {
	if k.count == maxCached {
		k.drop()
	}
	i, p := k.count, slotOf(at)
	for k.index[p] != 0 {
		p = (p + 1) % uint64(len(k.index))
	}
	if b := &k.blocks[i/blockUnits]; *b == nil {
		*b = make([]byte, blockUnits*cacheUnit)
	}
	k.index[p] = uint16(i + 1)
	k.at[i], k.size[i] = at, unread
	k.count++
	return i
}

func (k *readCache) load(at uint64) int {
	i := k.find(at)
	if i < 0 {
		i = k.slot(at)
	}
	if k.size[i] == unread {
		k.reads++
		k.size[i] = max(k.v.o.Read(at, k.unitBytes(i)[:k.unit]), 0)
	}
	return i
}

type extent struct{ addr, size uint64 }

func (k *readCache) gathers() bool { return k.enabled && k.v.o.Gather != nil }

// request marks a place in user space for readRequested.
func (k *readCache) request(p extent) {
	if p.addr < cacheUnit || p.addr >= k.end || p.size == 0 || p.size > maxTogether*k.unit || !k.gathers() {
		return
	}
	for at := p.addr &^ (k.unit - 1); at < p.addr+p.size && k.count < maxCached; at += k.unit {
		if k.find(at) < 0 {
			k.slot(at)
		}
	}
}

// readRequested reads them in order, in few calls.
func (k *readCache) readRequested() {
	if k.gathers() {
		k.gather(k.firstUnread)
		k.firstUnread = k.count
	}
}

func (k *readCache) fetch(places ...extent) {
	for _, p := range places {
		k.request(p)
	}
	k.readRequested()
}

func (k *readCache) rereadAll() {
	if k.v.o.Gather == nil {
		k.drop()
		return
	}
	for i := range k.count {
		k.size[i] = unread
	}
	k.gather(0)
}

// gather reads the units from index from on; failed ones are read on demand.
func (k *readCache) gather(from int) {
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

// collect makes one call's parts of unread units, joining adjacent ones; next is the next call's first unit.
func (k *readCache) collect(from int) (n, next int) {
	for i := from; i < k.count; i++ {
		if k.size[i] != unread {
			continue
		}
		if n > 0 && k.unit == cacheUnit && k.units[n-1].end == i && k.at[i-1]+cacheUnit == k.at[i] && i%blockUnits != 0 {
			k.units[n-1].end++
			k.parts[n-1].Bytes = k.following(k.units[n-1].first, i+1)
			continue
		}
		if n == maxParts {
			return n, i
		}
		k.units[n] = unitRange{i, i + 1}
		k.parts[n] = frames.Region{Addr: k.at[i], Bytes: k.unitBytes(i)[:k.unit]}
		n++
	}
	return n, k.count
}
