// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/code"
)

// # From walks to copies
//
// A walk shows what the next copy of the thread needs. [classify] classifies its end; then each of these learns from
// it, and sets its own part of the hints:
//
//	sizeLearner        copysize.go     bytes of stack, and its end
//	depthLearner       sampled.go      whether kernel samples have the whole stack
//	otherStackLearner  otherstacks.go  places on other stacks
//	outlineLearner     outline.go      the frame ends of a deep stack
//
// [WalkFeedback.noteMissingRegister] (keptregs.go) keeps the place where a register is missing.

// WalkFeedback learns from the walks of a thread what its next copies need. It belongs to the walking goroutine.
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
	f := &WalkFeedback{hints: first, buffer: &t.hints, thread: t}
	f.size.sizeHints, f.samples.sampleHints = &f.hints.sizeHints, &f.hints.sampleHints
	f.others.otherHints, f.outline.outlineHints = &f.hints.otherHints, &f.hints.outlineHints
	return f
}

// Walked learns from a walk of s. Preconditions: the walk has ended, and p has the mappings as of then. o has the
// frames of the walk, or is nil if some are missing.
func (f *WalkFeedback) Walked(p *code.Process, w *frames.Walker, s *RawSample, o *WalkedFrames) {
	f.hints.Incomplete = mayChange(w.StopReason())
	end := classify(p, w, s, &f.size)
	if end == endNoTime {
		return
	}
	f.samples.update(end, w, s)
	f.readAgainIf(f.others.update(end, w, s))
	f.readAgainIf(f.size.update(end, w, s))
	if f.outline.update(end, w, s, o) {
		f.size.atLeast(wholeCopy)
	}
	f.hints.Unproven = 0
	if end == endNoRegister {
		f.noteMissingRegister(s)
	}
	f.handOver()
}

// readAgainIf makes the next observation read the thread again, even if unchanged, if the copy lacked something.
func (f *WalkFeedback) readAgainIf(lacked bool) {
	if lacked {
		f.hints.Retries++
	}
}

func (f *WalkFeedback) handOver() { f.buffer.put(&f.hints) }

// # For single observations

// CopyUpTo sets the size of the next copies of the stack, within its usual limit.
func (f *WalkFeedback) CopyUpTo(n int) {
	f.hints.Bytes = min(max(n, minCopy), maxCopy)
	f.handOver()
}

// CopyDeep sets the size of the next copies of the stack, also beyond its usual limit.
func (f *WalkFeedback) CopyDeep(n uint64) {
	f.hints.Bytes = int(min(max(n, minCopy), deepCopy))
	f.handOver()
}

// CopyOther makes the next observations copy around an address on another stack (a signal stack, a stack that grows in
// parts). The newest four addresses are kept.
func (f *WalkFeedback) CopyOther(addr frames.Addr) {
	_, added := f.others.add(addr, 0)
	f.readAgainIf(added)
	f.handOver()
}

// CopyOtherDeep makes the next observations copy n bytes from an address on another stack. If addr is just beyond such
// a copy, that one is extended.
func (f *WalkFeedback) CopyOtherDeep(addr frames.Addr, n uint64) {
	if !f.others.extend(addr, n) {
		f.others.add(addr, min(n, deepCopy))
	}
	f.handOver()
}

// Unproven makes the next observation stop the sleeper for a missing register, if permitted and harmless.
func (f *WalkFeedback) Unproven(s *RawSample) {
	f.noteMissingRegister(s)
	f.handOver()
}
