// SPDX-License-Identifier: Apache-2.0

package managed

// CacheEntry has the times of a cached object.
type CacheEntry struct {
	Serial      uint64 // unique, the Cookie of a [Ref]
	FirstRead   int64  // first read
	LastChecked int64  // last verified
	LastWalked  int64  // last copy whose walk used it
}

// Entry implements [Cached].
func (l *CacheEntry) Entry() *CacheEntry { return l }

// Cached is implemented by types that embed a [CacheEntry].
type Cached interface {
	comparable
	Entry() *CacheEntry
}

const maxObjects = 1 << 16

// Objects caches named objects (code objects, iseqs, functions) by address, to verify them after each stop, and by
// serial number, for the Refs of a walk. A replaced object's serial number stays valid for current walks. The zero
// value is empty. For the walking goroutine; Skip is shared with the tracer.
type Objects[E Cached] struct {
	Skip     SkipSet
	byAddr   map[uint64]E
	bySerial map[uint64]E
	serial   uint64
	eviction IdleEviction
}

// At gives the object last known at an address, or the zero value.
func (o *Objects[E]) At(addr uint64) E { return o.byAddr[addr] }

// Of gives the object with a serial number, or the zero value.
func (o *Objects[E]) Of(serial uint64) E { return o.bySerial[serial] }

// Len gives the number of objects.
func (o *Objects[E]) Len() int { return max(len(o.byAddr), len(o.bySerial)) }

// Add caches and numbers the object at an address.
func (o *Objects[E]) Add(addr uint64, e E) {
	if o.byAddr == nil {
		o.byAddr, o.bySerial = map[uint64]E{}, map[uint64]E{}
	}
	o.serial++
	e.Entry().Serial = o.serial
	o.byAddr[addr], o.bySerial[o.serial] = e, e
	o.Skip.Add(addr)
}

// Drop drops the object at an address, so that stops copy it again.
func (o *Objects[E]) Drop(addr uint64) {
	o.Skip.Drop(addr)
	delete(o.byAddr, addr)
}

// LeaveOut excludes an address that has no object from copies.
func (o *Objects[E]) LeaveOut(addr uint64) {
	if !o.Skip.Has(addr) {
		o.Skip.Add(addr)
	}
}

// Forget drops all objects.
func (o *Objects[E]) Forget() {
	for addr := range o.byAddr {
		o.Skip.Drop(addr)
	}
	o.byAddr, o.bySerial = nil, nil
}

// Begin begins the walk of a copy made at a time, and evicts objects that are unused or too many.
func (o *Objects[E]) Begin(at int64) {
	if len(o.bySerial) > 2*maxObjects {
		o.Forget()
	}
	before, due := o.eviction.Due(at)
	if !due {
		return
	}
	for addr, e := range o.byAddr {
		if e.Entry().LastWalked < before {
			o.Drop(addr)
		}
	}
	for serial, e := range o.bySerial {
		if e.Entry().LastWalked < before {
			delete(o.bySerial, serial)
		}
	}
}
