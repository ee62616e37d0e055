// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/code"
)

// # From walks to copies
//
// A walk shows what the next copy of the thread needs. Its end is classified once ([classify]); then each of these
// learns from it, and sets its own part of the hints:
//
//	copySize     copysize.go     bytes of stack, and its end
//	sampleDepth  sampled.go      whether kernel samples have the whole stack
//	otherPlaces  otherstacks.go  places on other stacks
//	outlining    outline.go      the frame ends of a deep stack
//
// [WalkFeedback.noteMissingRegister] (keptregs.go) keeps the place where a register is missing.

// WalkFeedback learns from the walks of a thread what its next copies need. It belongs to the goroutine that walks;
// methods pass hints to the observer.
type WalkFeedback struct {
	hints   CopyHints
	buffer  *hintBuffer
	thread  *Thread // for its PID and TID, which do not change
	size    copySize
	samples sampleDepth
	others  otherPlaces
	outline outlining
}

func newFeedback(t *Thread, first CopyHints) *WalkFeedback {
	k := &WalkFeedback{hints: first, buffer: &t.hints, thread: t}
	k.size.sizeHints, k.samples.sampleHints = &k.hints.sizeHints, &k.hints.sampleHints
	k.others.otherHints, k.outline.outlineHints = &k.hints.otherHints, &k.hints.outlineHints
	return k
}

// Walked learns from a walk of s what the next observation must copy. Preconditions: the walk has ended, and p has the
// mappings as of then. o has the frames of the walk, or is nil if some are missing.
func (k *WalkFeedback) Walked(p *code.Process, w *frames.Walker, s *RawSample, o *Outline) {
	k.hints.Incomplete = mayChange(w.StopReason())
	end := classify(p, w, s, &k.size)
	if end == endNoTime {
		return
	}
	k.samples.update(end, w, s)
	k.again(k.others.update(end, w, s))
	k.again(k.size.update(end, w, s))
	if k.outline.update(end, w, s, o) {
		k.size.atLeast(wholeCopy)
	}
	k.hints.Unproven = 0
	if end == endNoRegister {
		k.noteMissingRegister(s)
	}
	k.handOver()
}

// again makes the next observation read again, even if the thread is unchanged, if the copy lacked something.
func (k *WalkFeedback) again(lacked bool) {
	if lacked {
		k.hints.Retries++
	}
}

func (k *WalkFeedback) handOver() { k.buffer.put(&k.hints) }

// # For single observations

// CopyUpTo makes the next observations copy up to n bytes of stack, within its usual limit.
func (k *WalkFeedback) CopyUpTo(n int) {
	k.hints.Bytes = min(max(n, leastCopy), mostCopy)
	k.handOver()
}

// CopyDeep makes the next observations copy up to n bytes of stack, also beyond its usual limit.
func (k *WalkFeedback) CopyDeep(n uint64) {
	k.hints.Bytes = int(min(max(n, leastCopy), deepCopy))
	k.handOver()
}

// CopyOther makes the next observations copy around an address on another stack (a signal stack, a stack that grows in
// parts). The newest four are kept.
func (k *WalkFeedback) CopyOther(addr frames.Addr) {
	_, added := k.others.add(addr, 0)
	k.again(added)
	k.handOver()
}

// CopyOtherDeep makes the next observations copy n bytes from an address on another stack. An address just beyond such
// a copy extends it.
func (k *WalkFeedback) CopyOtherDeep(addr frames.Addr, n uint64) {
	if !k.others.extend(addr, n) {
		k.others.add(addr, min(n, deepCopy))
	}
	k.handOver()
}

// Unproven makes the next observations stop the sleeper for a missing register, if that is allowed and harmless.
func (k *WalkFeedback) Unproven(s *RawSample) {
	k.noteMissingRegister(s)
	k.handOver()
}
