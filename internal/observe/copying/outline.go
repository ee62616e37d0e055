// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"cmp"
	"slices"
	"sync/atomic"

	"prywalk/frames"
)

// Sizes in bytes.
const (
	DeepFrom   = 64 << 10     // shallower stacks are copied in one piece
	TopBytes   = MinInnermost // copied of the top
	WholeBytes = 256 << 10    // copied in one piece, after an outline that did not fit
)

const (
	maxEnds    = 120  // frame ends
	maxChain   = 1024 // frames of a walk or chain
	endAge     = 256  // in walks
	shallowFor = 1000 // in walks
	sizeBits   = 11   // log2 of the table of frame sizes
	maxSizes   = 1 << sizeBits / 2
)

// frameEnd is a frame's outer end.
type frameEnd struct {
	at, pc   frames.Addr
	lastWalk uint32
}

func (f frameEnd) compare(at frames.Addr) int { return cmp.Compare(f.at, at) }

// WalkedFrames collects the frames of one walk.
type WalkedFrames struct{ ends []frameEnd }

// Reset drops the frames.
func (w *WalkedFrames) Reset() { w.ends = w.ends[:0] }

// Add adds a frame whose PC is a return address, the word below its stack pointer (x86-64).
func (w *WalkedFrames) Add(f *frames.Frame) {
	if f.AfterCall && f.SP != 0 && len(w.ends) < maxChain {
		w.ends = append(w.ends, frameEnd{at: f.SP, pc: f.PC})
	}
}

// fit reports whether a stop can copy all ends beyond the top.
func (w *WalkedFrames) fit() bool {
	bytes := frames.Addr(0)
	for i := 1; i < len(w.ends); i++ {
		if w.ends[i].at-w.ends[0].at > TopBytes {
			bytes += min(w.ends[i].at-w.ends[i-1].at, pieceBelow+endAbove)
		}
	}
	return bytes <= pieceBytes+maxFollowed && len(w.ends) < maxChain
}

const (
	sizeRoot   = ^frames.Addr(0) // the outermost frame
	sizeVaries = ^frames.Addr(0) - 1
)

// frameSizes is a hash table by return address. One goroutine writes while another reads: a stale size is a harmless
// guess.
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

// learn reports whether it has changed the table. It empties a full one.
func (f *frameSizes) learn(pc, size frames.Addr) bool {
	if pc == 0 {
		return false
	}
	at := &f.table[f.slot(pc)]
	switch {
	case at.pc.Load() == 0:
		if f.count == maxSizes {
			for i := range f.table {
				f.table[i].pc.Store(0)
			}
			f.count = 0
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

// Outline guesses where a deep stack's frame ends are. It is immutable, but for sizes.
type Outline struct {
	ends  []frameEnd // by address
	sizes *frameSizes
}

type history struct {
	ends     []frameEnd // by address
	walks    uint32
	sizes    *frameSizes
	lastDeep uint32
}

// learn returns which have changed. complete: the last frame is the outermost one.
func (h *history) learn(walk []frameEnd, complete bool) (sizes, ends bool) {
	h.walks++
	for i := range walk {
		switch {
		case i+1 < len(walk):
			sizes = h.sizes.learn(walk[i].pc, walk[i+1].at-walk[i].at) || sizes
		case complete:
			sizes = h.sizes.learn(walk[i].pc, sizeRoot) || sizes
		}
	}
	return sizes, h.learnEnds(walk[max(0, len(walk)-maxEnds):])
}

func (h *history) learnEnds(walk []frameEnd) (changed bool) {
	for _, end := range walk {
		end.lastWalk = h.walks
		i, ok := slices.BinarySearchFunc(h.ends, end.at, frameEnd.compare)
		if ok {
			changed = changed || h.ends[i].pc != end.pc
			h.ends[i] = end
			continue
		}
		h.ends, changed = slices.Insert(h.ends, i, end), true
	}
	n := len(h.ends)
	for age := uint32(endAge); ; age /= 2 {
		h.ends = slices.DeleteFunc(h.ends, func(end frameEnd) bool { return h.walks-end.lastWalk > age })
		if len(h.ends) <= maxEnds {
			break
		}
	}
	return changed || len(h.ends) != n
}

func (h *history) outline() *Outline { return &Outline{slices.Clone(h.ends), h.sizes} }

// OutlineHints is how the next stops copy a deep stack.
type OutlineHints struct {
	Outline           *Outline // nil: in one piece
	LastOutlineWasCut bool     // a walk by the last outline was cut
}

type outlineLearner struct {
	*OutlineHints
	history *history // nil: the stack was not deep lately
}

// update returns dropped = true if the walk was cut, and so the outline is dropped: the next copy needs [WholeBytes]
// bytes in one piece.
func (learner *outlineLearner) update(
	end WalkEnd, w *frames.Walker, c *WalkedCopy, walked *WalkedFrames,
) (dropped bool) {
	if end == EndPastRoot {
		return false
	}
	known, cut := learner.Outline != nil, end.IsCut()
	dropped = cut && known
	if dropped {
		learner.Outline, learner.LastOutlineWasCut = nil, true
	}
	if !cut && end != EndComplete || w.Regs().Arch != frames.X86_64 || !walked.fit() {
		return dropped
	}
	h := learner.historyFor(end, w, c)
	if h == nil {
		return dropped
	}
	newSizes, changed := h.learn(walked.ends, !cut)
	if cut {
		changed = newSizes && !known // new places alone do not help
	}
	if changed || !cut && !known {
		learner.Outline, learner.LastOutlineWasCut = h.outline(), false
	}
	return dropped
}

func (learner *outlineLearner) historyFor(end WalkEnd, w *frames.Walker, c *WalkedCopy) *history {
	reach := w.HighestSP()
	if end == EndCut || end == EndBetween {
		reach = max(reach, w.UnreadAddr())
	}
	deep := reach-c.Stack.Addr > DeepFrom
	switch h := learner.history; {
	case deep && h == nil:
		learner.history = &history{sizes: &frameSizes{}}
	case deep:
		h.lastDeep = h.walks
	case h != nil && h.walks-h.lastDeep > shallowFor:
		learner.history = nil
		*learner.OutlineHints = OutlineHints{}
	}
	return learner.history
}
