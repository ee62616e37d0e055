// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"slices"

	"prywalk/internal/walk/managed"
)

// frameSlots learns at which offset from the CFA the evaluation loop's native frame stores its frame object (before
// 3.11). The loop saves it as a callee-saved register, so the offset depends on the call site.
type frameSlots map[uint64]*frameSlot // by the loop's return address

type frameSlot struct {
	offsets  []uint64 // below the CFA, valid in all frames so far
	frames   int
	noneFits bool
}

const (
	enoughFrames  = 16 // before an offset is used
	maxFrameSlots = 1 << 10
)

type evalFrame struct{ sp, cfa uint64 }

// learn pairs a complete walk's native frames and frame objects from the outermost: the innermost may have none.
func (s *frameSlots) learn(native []evalFrame, objects []run, word managed.WordReader) {
	if *s == nil {
		*s = frameSlots{}
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
			if len(*s) == maxFrameSlots {
				return
			}
			at = &frameSlot{}
			(*s)[back] = at
		}
		at.learn(&f, objects[i-less].record, word)
	}
}

func (s *frameSlot) learn(f *evalFrame, object uint64, word managed.WordReader) {
	if s.noneFits {
		return
	}
	if s.frames == 0 {
		for off := uint64(8); off <= f.cfa-f.sp; off += 8 {
			v, ok := word(f.cfa - off)
			if !ok {
				break
			}
			if v == object {
				s.offsets = append(s.offsets, off)
			}
		}
	} else {
		s.offsets = slices.DeleteFunc(s.offsets, func(off uint64) bool {
			v, ok := word(f.cfa - off)
			return off > f.cfa-f.sp || !ok || v != object
		})
	}
	s.frames++
	s.noneFits = len(s.offsets) == 0
}

// keeps reports whether the loop's native frame with this CFA has the object in the slot where such frames keep it.
// known is false before enoughFrames frames have shown which slot that is.
func (s frameSlots) keeps(object, cfa uint64, word managed.WordReader) (keeps, known bool) {
	back, ok := word(cfa - 8)
	at := s[back]
	if !ok || at == nil || at.noneFits || at.frames < enoughFrames {
		return false, false
	}
	for _, off := range at.offsets { // several can match by chance
		if v, ok := word(cfa - off); ok && v == object {
			return true, true
		}
	}
	return false, true
}
