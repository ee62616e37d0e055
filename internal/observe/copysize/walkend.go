// SPDX-License-Identifier: Apache-2.0

package copysize

import (
	"prywalk/frames"
	"prywalk/internal/loadedcode"
)

// WalkEnd is the end of a walk, by what the next copy needs.
type WalkEnd uint8

// Ends.
const (
	EndElse       WalkEnd = iota // no copy helps: no rule, memory that is no stack, the limit of frames
	EndComplete                  // at the outermost frame
	EndNoTime                    // incomplete, and the limit of a stop cut the copy
	EndCut                       // beyond the copy of the stack
	EndBetween                   // as EndCut, between the pieces of an outline or a little beyond
	EndPastRoot                  // as EndCut, in a scan beyond the known end of the stack
	EndCutOther                  // beyond the copy of another stack
	EndOtherStack                // in a stack that was not copied
	EndNoRegister                // [frames.StopUnproven]
)

func classify(p *loadedcode.Process, w *frames.Walker, c *WalkedCopy, size *sizeLearner) WalkEnd {
	switch stop := w.StopReason(); {
	case stop.Complete():
		return EndComplete
	case c.Limit == LimitTime:
		return EndNoTime
	case stop == frames.StopUnproven:
		return EndNoRegister
	case stop == frames.StopBadMemory && p.StackEnd(w.UnreadAddr()) != 0:
		return EndOtherStack
	case stop != frames.StopStackCut:
		return EndElse
	case w.ScanWasCut() && size.reachesEnd(c):
		return EndPastRoot
	case w.OnOtherStack():
		return EndCutOther
	case c.InPieces:
		return EndBetween
	}
	return EndCut
}

// IsCut reports whether a longer copy of the same stack helps.
func (end WalkEnd) IsCut() bool { return end == EndCut || end == EndBetween || end == EndCutOther }
