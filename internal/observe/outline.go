// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"slices"
	"sync/atomic"

	"prywalk/frames"
)

// # Stacks that are deeper than 64 KiB
//
// A walk needs only the words near the outer ends of frames. An outline has their places in a thread's last walks, and
// the frame size of each return address. A stop copies:
//
//   - the top of the stack and, in the same read, a piece at each known end;
//
//   - from each known return address in the top, as some are stale, frame by frame, the ends at new places
//     ([search.follow]);
//
//   - if no such chain leads to the outermost frame: all up to the last known end of the stack, if near; else further
//     memory until a return address in it leads there ([search.bridge]).
//
//     sp                                                                    root
//     │ top: 24 KiB │      │ end │                │ end │   │ end │      │ end │
//
// If the walk lacks a word, the next stop copies in one piece.
const (
	outlineFrom = 64 << 10  // bytes; shallower stacks are copied in one piece
	topCopy     = 24 << 10  // bytes of the top
	wholeCopy   = 256 << 10 // bytes in one piece, after an outline that did not fit
)

// Bounds of what is kept of the last walks.
const (
	maxEnds    = 120  // frame ends
	maxChain   = 1024 // frames of a walk or chain
	endAge     = 256  // walks for which an end is kept
	shallowFor = 1000 // shallow walks until the outline is dropped
	sizeBits   = 11   // log2 of the table of frame sizes
	maxSizes   = 1 << sizeBits / 2
)

// frameEnd is a frame's outer end, with the return address there.
type frameEnd struct {
	at, pc   frames.Addr
	lastWalk uint32 // number of the last walk that had it
}

func (f frameEnd) compare(at frames.Addr) int { return cmp.Compare(f.at, at) }

// WalkedFrames collects the frames of one walk.
type WalkedFrames struct{ ends []frameEnd }

// Reset drops the frames.
func (w *WalkedFrames) Reset() { w.ends = w.ends[:0] }

// Add adds a frame whose PC is a return address, the word below its stack pointer (x86-64).
func (w *WalkedFrames) Add(f *frames.Frame) {
	if f.Caller && f.SP != 0 && len(w.ends) < maxChain {
		w.ends = append(w.ends, frameEnd{at: f.SP, pc: f.PC})
	}
}

const (
	sizeRoot   = ^frames.Addr(0) // the outermost frame
	sizeVaries = ^frames.Addr(0) - 1
)

// frameSizes is a hash table from return address to frame size. pc 0: an empty slot. One goroutine writes while another
// reads: a stale or mismatched size is a harmless guess.
type frameSizes struct {
	table  [1 << sizeBits]struct{ pc, size atomic.Uint64 }
	count  int
	lo, hi atomic.Uint64
}

func (f *frameSizes) mayHave(pc frames.Addr) bool {
	return pc >= f.lo.Load() && pc <= f.hi.Load() && pc != 0
}

func (f *frameSizes) slot(pc frames.Addr) uint64 {
	i := pc * 0x9e3779b97f4a7c15 >> (64 - sizeBits)
	for at := f.table[i].pc.Load(); at != 0 && at != pc; at = f.table[i].pc.Load() {
		i = (i + 1) % uint64(len(f.table))
	}
	return i
}

func (f *frameSizes) size(pc frames.Addr) frames.Addr {
	at := &f.table[f.slot(pc)]
	if pc == 0 || at.pc.Load() != pc {
		return 0
	}
	return at.size.Load()
}

// learn reports whether the size is new. It empties a full table.
func (f *frameSizes) learn(pc, size frames.Addr) bool {
	if pc == 0 {
		return false
	}
	at := &f.table[f.slot(pc)]
	switch {
	case at.pc.Load() == 0:
		if f.count == maxSizes {
			f.clear()
			at = &f.table[f.slot(pc)]
		}
		f.count++
		if f.count == 1 {
			f.lo.Store(pc)
			f.hi.Store(pc)
		}
		f.lo.Store(min(f.lo.Load(), pc))
		f.hi.Store(max(f.hi.Load(), pc))
		at.size.Store(size)
		at.pc.Store(pc)
		return true
	case at.size.Load() == size || at.size.Load() == sizeVaries:
		return false
	}
	at.size.Store(sizeVaries)
	return true
}

func (f *frameSizes) clear() {
	for i := range f.table {
		f.table[i].pc.Store(0)
	}
	f.count = 0
}

// outline guesses where a deep stack's frame ends are. It is immutable, but for sizes.
type outline struct {
	ends  []frameEnd // by rising address
	sizes *frameSizes
}

// outlineHistory is of a deep stack's last walks. It belongs to the walking goroutine.
type outlineHistory struct {
	ends     []frameEnd // by rising address
	walks    uint32
	sizes    *frameSizes
	lastDeep uint32 // last walk beyond outlineFrom
}

// learn reports whether a walk has a new size or end. complete: its last frame is the outermost one.
func (o *outlineHistory) learn(walk []frameEnd, complete bool) (sizes, marks bool) {
	o.walks++
	for i := range walk {
		switch {
		case i+1 < len(walk):
			sizes = o.sizes.learn(walk[i].pc, walk[i+1].at-walk[i].at) || sizes
		case complete:
			sizes = o.sizes.learn(walk[i].pc, sizeRoot) || sizes
		}
	}
	return sizes, o.learnEnds(walk[max(0, len(walk)-maxEnds):])
}

func (o *outlineHistory) learnEnds(walk []frameEnd) (changed bool) {
	for _, end := range walk {
		end.lastWalk = o.walks
		i, ok := slices.BinarySearchFunc(o.ends, end.at, frameEnd.compare)
		if ok {
			changed = changed || o.ends[i].pc != end.pc
			o.ends[i] = end
			continue
		}
		o.ends, changed = slices.Insert(o.ends, i, end), true
	}
	n := len(o.ends)
	for age := uint32(endAge); age > 0 && (age == endAge || len(o.ends) > maxEnds); age /= 2 {
		o.ends = slices.DeleteFunc(o.ends, func(end frameEnd) bool { return o.walks-end.lastWalk > age })
	}
	return changed || len(o.ends) != n
}

func (o *outlineHistory) outline() *outline { return &outline{slices.Clone(o.ends), o.sizes} }

type outlineHints struct {
	outline       *outline // nil: stops copy in one piece
	outlineMisled bool     // a walk by the last outline was cut
}

type outlineLearner struct {
	*outlineHints
	history *outlineHistory // nil: the stack was not deep lately
}

// update learns from a walk; walked is nil if frames are missing. A cut walk adds frames, but drops the outline.
func (learner *outlineLearner) update(
	end walkEnd, w *frames.Walker, s *RawSample, walked *WalkedFrames,
) (dropped bool) {
	if walked == nil || end == endPastRoot {
		return false
	}
	known, cut := learner.outline != nil, end.isCut()
	dropped = cut && known
	if dropped {
		learner.outline, learner.outlineMisled = nil, true
	}
	if !cut && end != endComplete || s.Regs.Arch != frames.X86_64 || len(walked.ends) == maxChain {
		return dropped // so many frames are small ones
	}
	history := learner.historyFor(end, w, s)
	if history == nil {
		return dropped
	}
	newSizes, changed := history.learn(walked.ends, !cut)
	if cut {
		changed = newSizes && !known // new places alone do not help
	}
	if changed || !cut && !known {
		learner.outline, learner.outlineMisled = history.outline(), false
	}
	return dropped
}

// historyFor returns nil if the stack was not deep lately.
func (learner *outlineLearner) historyFor(end walkEnd, w *frames.Walker, s *RawSample) *outlineHistory {
	reach := w.HighestSP()
	if end == endCut || end == endBetween {
		reach = max(reach, w.UnreadAddr())
	}
	deep := reach-s.Mem.Stack.Addr > outlineFrom
	switch history := learner.history; {
	case deep && history == nil:
		learner.history = &outlineHistory{sizes: &frameSizes{}}
	case deep:
		history.lastDeep = history.walks
	case history != nil && history.walks-history.lastDeep > shallowFor:
		learner.history = nil
		learner.outline = nil
		learner.outlineMisled = false
	}
	return learner.history
}
