// SPDX-License-Identifier: Apache-2.0

package deepstack

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/observe/copysize"
)

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

// Hints is how the next stops copy a deep stack.
type Hints struct {
	Outline           *Outline // nil: in one piece
	LastOutlineWasCut bool     // a walk by the last outline was cut
}

// Learner learns from the walks of one thread. It belongs to the walking goroutine. The zero value is of a new thread.
type Learner struct {
	Hints
	history *history // nil: the stack was not deep lately
}

// Walked learns from a walk of a copy. dropped: the walk was cut, and so the outline is dropped: the next copy needs
// [WholeBytes] bytes in one piece.
func (learner *Learner) Walked(
	end copysize.WalkEnd, w *frames.Walker, c *copysize.WalkedCopy, walked *WalkedFrames,
) (dropped bool) {
	if end == copysize.EndPastRoot {
		return false
	}
	known, cut := learner.Outline != nil, end.IsCut()
	dropped = cut && known
	if dropped {
		learner.Outline, learner.LastOutlineWasCut = nil, true
	}
	if !cut && end != copysize.EndComplete || w.Regs().Arch != frames.X86_64 || !walked.fit() {
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

func (learner *Learner) historyFor(end copysize.WalkEnd, w *frames.Walker, c *copysize.WalkedCopy) *history {
	reach := w.HighestSP()
	if end == copysize.EndCut || end == copysize.EndBetween {
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
		learner.Hints = Hints{}
	}
	return learner.history
}
