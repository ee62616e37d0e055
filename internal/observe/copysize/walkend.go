// SPDX-License-Identifier: Apache-2.0

package copysize

import (
	"prywalk/frames"
	"prywalk/internal/loadedcode"
)

// WalkEnd is the end of a walk, by what the next copy needs.
type WalkEnd uint8

// The ends.
const (
	EndElse       WalkEnd = iota // no copy helps: no rule, memory that is no stack, the limit of frames
	EndComplete                  // at the outermost frame
	EndNoTime                    // incomplete, after a copy that the limit of a stop cut
	EndCut                       // beyond the copy of the stack
	EndBetween                   // as EndCut, in a copy by an outline: between its pieces, or a little beyond
	EndPastRoot                  // as EndCut, in a scan that has passed the known end of the stack
	EndCutOther                  // beyond the copy of another stack
	EndOtherStack                // in a stack that was not copied
	EndNoRegister                // [frames.StopUnproven]
)

// classify returns how a walk of a copy ended. Precondition: size has the root of the walk before.
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

// IsCut reports whether a longer copy of a stack that was copied helps.
func (end WalkEnd) IsCut() bool { return end == EndCut || end == EndBetween || end == EndCutOther }
