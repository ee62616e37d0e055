// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"maps"
	"sync/atomic"
	"time"
)

// CacheEntry has the times of a cached object.
type CacheEntry struct {
	Serial      uint64 // the Cookie of a [Ref]
	FirstRead   int64
	LastChecked int64
	LastWalked  int64 // last copy whose walk used it
}

// Entry implements [Cached].
func (e *CacheEntry) Entry() *CacheEntry { return e }

// Cached is implemented by types that embed a [CacheEntry].
type Cached interface {
	comparable
	Entry() *CacheEntry
}

const maxObjects = 1 << 17

// Objects caches named objects (code objects, iseqs, functions) by address and by serial number. A replaced object's
// serial number stays valid for current walks. For the walking goroutine; only Skip, the addresses that stops need
// not copy, is shared with the tracer.
type Objects[E Cached] struct {
	Skip     SkipSet
	byAddr   map[uint64]E
	bySerial map[uint64]E
	serial   uint64
	eviction IdleEviction
}

// At returns the object last known at an address, or the zero value.
func (o *Objects[E]) At(addr uint64) E { return o.byAddr[addr] }

// Of returns the object with a serial number, or the zero value.
func (o *Objects[E]) Of(serial uint64) E { return o.bySerial[serial] }

// Len returns the number of objects.
func (o *Objects[E]) Len() int { return max(len(o.byAddr), len(o.bySerial)) }

// Add numbers and caches an object.
func (o *Objects[E]) Add(addr uint64, e E) {
	o.Number(e)
	o.byAddr[addr] = e
}

// Number caches an object by its serial number, a new one if it has none.
func (o *Objects[E]) Number(e E) {
	if o.byAddr == nil {
		o.byAddr, o.bySerial = map[uint64]E{}, map[uint64]E{}
	}
	if e.Entry().Serial == 0 {
		o.serial++
		e.Entry().Serial = o.serial
	}
	o.bySerial[e.Entry().Serial] = e
}

// walked records that the walk of a copy made at a time used an object.
func (o *Objects[E]) walked(e E, at int64) {
	entry := e.Entry()
	entry.LastWalked = max(entry.LastWalked, at)
	if o.bySerial[entry.Serial] != e { // of equal objects the one in use stays
		o.Number(e)
	}
}

// Drop drops an object; stops copy it again.
func (o *Objects[E]) Drop(addr uint64) {
	o.Skip.drop(addr)
	delete(o.byAddr, addr)
}

// Forget drops all objects.
func (o *Objects[E]) Forget() {
	for addr := range o.byAddr {
		o.Skip.drop(addr)
	}
	o.byAddr, o.bySerial = nil, nil
}

// Begin begins the walk of a copy made at a time (in nanoseconds of CLOCK_MONOTONIC), and evicts objects that are
// unused or too many. evicted: serial numbers may have lost their objects.
func (o *Objects[E]) Begin(at int64) (evicted bool) {
	if o.Len() > maxObjects { // one at a time would cost owners a search of their own maps in each walk
		o.Forget()
		return true
	}
	before, due := o.eviction.Due(at)
	if !due {
		return false
	}
	for addr, e := range o.byAddr {
		if e.Entry().LastWalked < before {
			o.Drop(addr)
		}
	}
	maps.DeleteFunc(o.bySerial, func(_ uint64, e E) bool { return e.Entry().LastWalked < before })
	return true
}

const evictionPeriod = int64(time.Minute)

// IdleEviction schedules the eviction of unused cache entries.
type IdleEviction struct {
	last int64
}

// Due reports whether to evict entries last used before since. at is the time of the walked copy.
func (e *IdleEviction) Due(at int64) (since int64, due bool) {
	if at-e.last < evictionPeriod {
		return 0, false
	}
	since, e.last = e.last, at
	return since, true
}

// SkipSet is a bounded set of addresses of objects that stops need not copy. The walking goroutine changes it, the
// tracer queries it. An address can evict another.
type SkipSet struct {
	slots [1 << skipBits]atomic.Uint64
}

const skipBits = 13

func (s *SkipSet) slot(addr uint64) *atomic.Uint64 {
	return &s.slots[addr*0x9e3779b97f4a7c15>>(64-skipBits)] // Fibonacci hashing
}

// Has reports whether an address is in the set. A nil set is empty.
func (s *SkipSet) Has(addr uint64) bool { return s != nil && s.slot(addr).Load() == addr }

// Add adds an address.
func (s *SkipSet) Add(addr uint64) { s.slot(addr).Store(addr) }

// drop removes an address.
func (s *SkipSet) drop(addr uint64) { s.slot(addr).CompareAndSwap(addr, 0) }
