// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/code"
)

// # From walks to copies
//
// Each of these learns from the end of a walk ([classify]), and sets its part of the hints:
//
//	sizeLearner          copysize.go     bytes of stack, and its end
//	depthLearner         sampled.go      whether kernel samples have the whole stack
//	otherStackLearner    otherstacks.go  places on other stacks
//	outlineLearner       outline.go      the frame ends of a deep stack
//	noteMissingRegister  keptregs.go     where a register is missing

// WalkFeedback learns from a thread's walks what its next copies need. It belongs to the walking goroutine.
type WalkFeedback struct {
	hints   CopyHints
	buffer  *hintBuffer
	thread  *Thread // for its PID and TID, which do not change
	size    sizeLearner
	samples depthLearner
	others  otherStackLearner
	outline outlineLearner
}

func newFeedback(t *Thread, first CopyHints) *WalkFeedback {
	feedback := &WalkFeedback{hints: first, buffer: &t.hints, thread: t}
	feedback.size.sizeHints, feedback.samples.sampleHints = &feedback.hints.sizeHints, &feedback.hints.sampleHints
	feedback.others.otherHints, feedback.outline.outlineHints = &feedback.hints.otherHints, &feedback.hints.outlineHints
	return feedback
}

// Walked learns from a finished walk of s. Precondition: p has the mappings as of then. walked has the walk's frames,
// or is nil if some are missing.
func (feedback *WalkFeedback) Walked(p *code.Process, w *frames.Walker, s *RawSample, walked *WalkedFrames) {
	feedback.hints.Incomplete = mayChange(w.StopReason())
	end := classify(p, w, s, &feedback.size)
	if end == endNoTime {
		return
	}
	feedback.samples.update(end, w, s)
	feedback.readAgainIf(feedback.others.update(end, w, s))
	feedback.readAgainIf(feedback.size.update(end, w, s))
	if feedback.outline.update(end, w, s, walked) {
		feedback.size.atLeast(wholeCopy)
	}
	feedback.hints.Unproven = 0
	if end == endNoRegister {
		feedback.noteMissingRegister(s)
	}
	feedback.handOver()
}

func (feedback *WalkFeedback) readAgainIf(lacked bool) {
	if lacked {
		feedback.hints.Retries++
	}
}

func (feedback *WalkFeedback) handOver() { feedback.buffer.put(&feedback.hints) }

// # For single observations

// CopyUpTo sets the size of the next copies of the stack, at most maxCopy.
func (feedback *WalkFeedback) CopyUpTo(n int) {
	feedback.hints.Bytes = min(max(n, minCopy), maxCopy)
	feedback.handOver()
}

// CopyDeep is CopyUpTo with at most deepCopy.
func (feedback *WalkFeedback) CopyDeep(n uint64) {
	feedback.hints.Bytes = int(min(max(n, minCopy), deepCopy))
	feedback.handOver()
}

// CopyOther makes the next observations copy around an address on another stack. The newest four addresses are kept.
func (feedback *WalkFeedback) CopyOther(addr frames.Addr) {
	_, added := feedback.others.add(addr, 0)
	feedback.readAgainIf(added)
	feedback.handOver()
}

// CopyOtherDeep makes the next observations copy n bytes from addr on another stack, or extends the copy that ends
// there.
func (feedback *WalkFeedback) CopyOtherDeep(addr frames.Addr, n uint64) {
	if !feedback.others.extend(addr, n) {
		feedback.others.add(addr, min(n, deepCopy))
	}
	feedback.handOver()
}

// Unproven makes the next observation stop the sleeper for a missing register, if permitted and harmless.
func (feedback *WalkFeedback) Unproven(s *RawSample) {
	feedback.noteMissingRegister(s)
	feedback.handOver()
}
