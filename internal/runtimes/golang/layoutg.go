// SPDX-License-Identifier: Apache-2.0

package golang

import "encoding/binary"

// # The layout of a g
//
// Fields are found in the g of a known function: its number after a state, and the function's address. In a program
// that is runtime.main's, number 1, first of the list. In a library (-buildmode=c-shared, c-archive) runtime.main has
// returned, but runtime.forcegchelper, which the first init function starts, never returns.

type layoutG struct{ status, start int64 }

// Offsets from atomicstatus since Go 1.13.
const (
	afterStatusGoid   = 8
	afterStatusSince  = 24
	afterStatusReason = 32
)

// Offsets from startpc since Go 1.13; parentGoid is before gopc since Go 1.21.
const (
	beforeStartParent = 24
	beforeStartGoPC   = 16
	afterStartLabels  = 48
)

const (
	maxFirst = 64
	// earlyGoids bounds forcegchelper's number: each processor takes 16 at a time (runtime/proc.go, _GoidCacheBatch).
	earlyGoids = 1 << 10
)

func (r *allgs) layoutIn(array, n uint64) (l layoutG, ok bool) {
	var b [goroutineBytes]byte
	for i := range min(n, maxFirst) {
		g, ok := r.word(array + 8*i)
		if !ok || r.host.Read(g, b[:]) != len(b) {
			return l, false
		}
		if i == 0 {
			if l, ok = r.layoutOf(b[:], "runtime.main", 1); ok {
				return l, true
			}
		}
		if l, ok = r.layoutOf(b[:], "runtime.forcegchelper", earlyGoids); ok {
			return l, true
		}
	}
	return l, false
}

// layoutOf finds the offsets of fields in the g of a function; false if one is not unique.
func (r *allgs) layoutOf(b []byte, function string, lastID uint64) (l layoutG, ok bool) {
	entry, ok := r.entries.named(function)
	if !ok {
		return l, false
	}
	found := 0
	for off := r.chase.SchedBP + 8; off+afterStatusReason+8 <= 256; off += 8 {
		w := func(at int64) uint64 { return binary.LittleEndian.Uint64(b[off+at:]) }
		id := w(afterStatusGoid)
		if status := uint32(w(0)) &^ goroutineScanning; id > 0 && id <= lastID && status > goroutineIdle &&
			status <= goroutineLast && w(0)>>32 == 0 && (w(afterStatusReason)&0xff) < waitReasonBytes {
			l.status, found = off, found+1
		}
	}
	starts := 0
	for off := l.status + afterStatusReason + 8; off+8 <= int64(len(b)); off += 8 {
		if binary.LittleEndian.Uint64(b[off:]) == entry {
			l.start, starts = off, starts+1
		}
	}
	return l, found == 1 && starts == 1
}

// findFields looks for the layout of g in ever fewer of its calls.
func (r *allgs) findFields() bool {
	if r.tries++; r.tries&(r.tries-1) != 0 { // calls 1, 2, 4, 8 …
		return false
	}
	first, n, err := r.slice()
	return err == nil && r.findFieldsIn(first, n)
}

func (r *allgs) findFieldsIn(array, n uint64) bool {
	l, ok := r.layoutIn(array, n)
	if ok {
		r.fields = l
		r.labelsAt.Store(l.start + afterStartLabels)
	}
	return ok
}
