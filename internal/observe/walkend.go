// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/code"
)

// walkEnd is the end of a walk, by what the next copy needs.
type walkEnd uint8

const (
	endElse       walkEnd = iota // no copy helps: no rule, memory that is no stack, the limit of frames
	endComplete                  // at the outermost frame
	endNoTime                    // incomplete, after a copy that the limit of a stop cut
	endCut                       // beyond the copy of the stack
	endBetween                   // as endCut, in a copy by an outline: between its pieces, or a little beyond
	endPastRoot                  // as endCut, in a scan that has passed the known end of the stack
	endCutOther                  // beyond the copy of another stack
	endOtherStack                // in a stack that was not copied
	endNoRegister                // [frames.StopUnproven]
)

// Precondition: size has the root of the walk before.
func classify(p *code.Process, w *frames.Walker, s *RawSample, size *sizeLearner) walkEnd {
	switch stop := w.StopReason(); {
	case stop.Complete():
		return endComplete
	case s.limit == limitTime:
		return endNoTime
	case stop == frames.StopUnproven:
		return endNoRegister
	case stop == frames.StopBadMemory && p.StackEnd(w.UnreadAddr()) != 0:
		return endOtherStack
	case stop != frames.StopStackCut:
		return endElse
	case w.ScanWasCut() && size.hasAll(s):
		return endPastRoot
	case w.OnOtherStack():
		return endCutOther
	case s.outline != nil:
		return endBetween
	}
	return endCut
}

func (end walkEnd) isCut() bool { return end == endCut || end == endBetween || end == endCutOther }

// mayChange reports whether a later walk of the same copy may get further (exec, dlopen).
func mayChange(stop frames.StopReason) bool {
	return !stop.Complete() && stop != frames.StopUnproven && stop != frames.StopDepth
}
