// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// # Objects that the collector tracks
//
// Each has a head before it (Include/internal/pycore_gc.h), linked in a ring with its generation's:
//
//	 0  next
//	 8  previous; the lowest bits of both are flags
//	16  the object; in a generation: threshold, count
//
// Three generations lie one after the other, in the interpreter, in 3.8 in _PyRuntime. They are found by their rings.
// The permanent one (gc.freeze) follows, up to 3.13 behind a pointer. Objects move from younger to older ones, so these
// are read in this order. A free-threaded build has no rings.

const (
	gcNext, gcPrev = 0, 8
	gcHead         = 16
	gcFlags        = 3
	gcGeneration   = 24 // bytes
	gcAlignment    = 4  // of a head in the interpreter, in some releases less than a pointer's

	maxInterpreter = 128 << 10          // bytes in which generations are searched
	maxTracked     = 1 << 21            // objects of a reading
	maxListing     = int64(time.Second) // of all readings for a list
	trackedPerLook = 1 << 10            // at the clock
)

type rings struct {
	r     *interpreter
	pages managed.Pages
	left  int
	end   int64 // in nanoseconds of CLOCK_MONOTONIC
}

// tracked yields the objects that all interpreters' collectors track, until a time (in nanoseconds of CLOCK_MONOTONIC);
// whole means that the lists did not change meanwhile.
func (in *interpreter) tracked(end int64, yield func(object, typ uint64)) (whole bool) {
	g := &rings{r: in, left: maxTracked, end: end}
	g.pages.Reset(in.host)
	first := in.read64(in.at + uint64(in.runtimeInterps))
	interp := first
	whole = interp != 0
	for n := 0; interp != 0; n++ {
		if n == maxInterps || n > 0 && interp == first || procmem.Now() > end {
			return false
		}
		heads := g.generations(interp, maxInterpreter)
		if in.minor == 8 {
			heads = g.generations(in.at, in.size)
		}
		whole = whole && len(heads) > 0
		for _, head := range heads {
			whole = g.objects(head, yield) && whole
		}
		interp = in.read64(interp + uint64(in.interpNext))
	}
	return whole
}

func (g *rings) generations(from, size uint64) (heads []uint64) {
	b := make([]byte, min(size, maxInterpreter))
	b = b[:g.r.host.Read(from, b)]
	for i := 0; i+3*gcGeneration <= len(b); i += gcAlignment {
		at := from + uint64(i)
		if !g.mayBeRing(b[i:]) || !g.mayBeRing(b[i+gcGeneration:]) || !g.mayBeRing(b[i+2*gcGeneration:]) ||
			!g.isRing(at) || !g.isRing(at+gcGeneration) || !g.isRing(at+2*gcGeneration) {
			continue
		}
		heads = []uint64{at, at + gcGeneration, at + 2*gcGeneration}
		for behind := range uint64(4) { // nothing, or a pointer, which is aligned
			if permanent := at + 3*gcGeneration + gcAlignment*behind; g.isRing(permanent) {
				return append(heads, permanent)
			}
		}
		return heads
	}
	return nil
}

func (g *rings) mayBeRing(b []byte) bool {
	next, prev := binary.LittleEndian.Uint64(b[gcNext:]), binary.LittleEndian.Uint64(b[gcPrev:])
	return min(next, prev) >= 1<<12 && max(next, prev) < 1<<47
}

func (g *rings) isRing(head uint64) bool {
	next, prev := g.r.read64(head+gcNext)&^gcFlags, g.r.read64(head+gcPrev)&^gcFlags
	return g.r.read64(next+gcPrev)&^gcFlags == head && g.r.read64(prev+gcNext)&^gcFlags == head
}

// objects yields those of a ring; false if it changed meanwhile.
func (g *rings) objects(head uint64, yield func(object, typ uint64)) (whole bool) {
	before := head
	at := g.r.read64(head+gcNext) &^ gcFlags
	for ; at != head; g.left-- {
		var b [gcHead + objectType + 8]byte
		if g.left == 0 || g.left%trackedPerLook == 0 && procmem.Now() > g.end || g.pages.Read(at, b[:]) != len(b) ||
			binary.LittleEndian.Uint64(b[gcPrev:])&^gcFlags != before {
			return false
		}
		yield(at+gcHead, binary.LittleEndian.Uint64(b[gcHead+objectType:]))
		before, at = at, binary.LittleEndian.Uint64(b[gcNext:])&^gcFlags
	}
	return g.r.read64(head+gcPrev)&^gcFlags == before
}
