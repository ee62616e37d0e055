// SPDX-License-Identifier: Apache-2.0

package cpython

import "slices"

// slots learns where in its native frame the loop keeps the address of its frame object (before 3.11). Whoever
// calls the loop keeps that address for when the loop returns, in a register that the loop has to save. So it lies
// at the same distance from the CFA for each place of call. What was learned decides who runs which frame in the
// few instructions at which that is open. There the loop has been entered, and its frame is not the innermost yet,
// or not any more.
type slots map[uint64]*slot // by the return address of the loop's frame

// slot is what is known of one place of call.
type slot struct {
	offsets []uint64 // from the CFA down; those that held in all frames so far
	frames  int      // that they held in
	none    bool     // no offset did
}

// Bounds of what is learned.
const (
	enoughFrames = 16 // in how many native frames an offset must have held to be believed
	mostSlots    = 1 << 10
)

// loopFrame is a native frame of the loop in a walk.
type loopFrame struct{ sp, cfa uint64 }

// learn takes the native frames of a complete walk and its frame objects. The outermost belong together, and so on; the
// innermost native frame may have none, as it has just been entered or is about to be left.
func (s *slots) learn(native []loopFrame, objects []run, word words) {
	if *s == nil {
		*s = slots{}
	}
	less := len(native) - len(objects)
	if less != 0 && less != 1 {
		return
	}
	for i := 1; i < len(native); i++ { // the innermost may not have saved it yet
		f := native[i]
		back, ok := word(f.cfa - 8)
		if !ok {
			continue
		}
		at := (*s)[back]
		if at == nil {
			if len(*s) == mostSlots {
				return
			}
			at = &slot{}
			(*s)[back] = at
		}
		at.learn(&f, objects[i-less].record, word)
	}
}

func (s *slot) learn(f *loopFrame, object uint64, word words) {
	if s.none {
		return
	}
	holds := func(off uint64) bool {
		v, ok := word(f.cfa - off)
		return ok && v == object
	}
	if s.frames == 0 {
		for off := uint64(8); off <= f.cfa-f.sp; off += 8 {
			if holds(off) {
				s.offsets = append(s.offsets, off)
			}
		}
	} else {
		s.offsets = slices.DeleteFunc(s.offsets, func(off uint64) bool { return off > f.cfa-f.sp || !holds(off) })
	}
	s.frames++
	s.none = len(s.offsets) == 0
}

// keeps reports whether a native frame of the loop keeps the object where it must; false for known if that place is
// not known.
func (s slots) keeps(object, cfa uint64, word words) (keeps, known bool) {
	back, ok := word(cfa - 8)
	at := s[back]
	if !ok || at == nil || at.none || at.frames < enoughFrames {
		return false, false
	}
	for _, off := range at.offsets { // further ones may be left that held by chance
		if v, ok := word(cfa - off); ok && v == object {
			return true, true
		}
	}
	return false, true
}
