// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/walk/managed"
)

// WalkFeedback learns from a thread's walks what its next copies need. It belongs to the walking goroutine.
type WalkFeedback struct {
	copies     *copyLearner
	reads      readHints
	id         ThreadID
	handedOver atomic.Pointer[copyHints] // never changed once stored
}

func newFeedback(id ThreadID) *WalkFeedback {
	feedback := &WalkFeedback{id: id, copies: newCopyLearner()}
	feedback.handOver()
	return feedback
}

// Walked learns from a finished walk of s. Precondition: p has the mappings as of then.
func (feedback *WalkFeedback) Walked(p *loadedcode.Process, w *frames.Walker, s *RawSample) {
	feedback.reads.Incomplete = mayGetFurther(w.StopReason())
	end, again := feedback.copies.walked(p, w, s)
	if end == endNoTime {
		return
	}
	feedback.readAgainIf(again)
	feedback.reads.MissingRegisterSite = 0
	if end == endNoRegister {
		feedback.recordMissingRegister(s)
	}
	feedback.handOver()
}

// mayGetFurther reports whether the next walk may be longer: a later exec or dlopen can add code.
func mayGetFurther(stop frames.StopReason) bool {
	return !stop.Complete() && stop != frames.StopUnproven && stop != frames.StopDepth
}

func (feedback *WalkFeedback) readAgainIf(lacked bool) {
	if lacked {
		feedback.reads.Retries++
	}
}

// DiscardFormerProgram discards, after an exec, what walks of the former program have shown. The arguments are those of
// [Thread.SetFirstCopy] and [Thread.SetFirstStackEnd]. The next observation is a whole one.
func (feedback *WalkFeedback) DiscardFormerProgram(firstCopy int64, firstStackEnd frames.Addr) {
	feedback.copies = feedback.copies.restarted()
	feedback.copies.setBytes(uint64(firstCopy), maxUsualStack)
	feedback.copies.setFirstStackEnd(firstStackEnd)
	feedback.reads = readHints{Retries: feedback.reads.Retries + 1}
	feedback.handOver()
}

func (feedback *WalkFeedback) handOver() {
	hints := copyHints{feedback.copies.hints, feedback.reads}
	if last := feedback.handedOver.Load(); last == nil || *last != hints {
		changed := hints // escapes, unlike hints
		feedback.handedOver.Store(&changed)
	}
}

// SetCopySize sets the size of the next copies of the stack, at most [maxUsualStack].
func (feedback *WalkFeedback) SetCopySize(n int) {
	feedback.copies.setBytes(uint64(max(n, 0)), maxUsualStack)
	feedback.handOver()
}

// SetDeepCopySize is SetCopySize with at most [maxDeepStack].
func (feedback *WalkFeedback) SetDeepCopySize(n uint64) {
	feedback.copies.setBytes(n, maxDeepStack)
	feedback.handOver()
}

// AddOtherStack is [copyLearner.addOtherStack]. A new place has an unchanged thread read again, unless it replaces
// one of a full list.
func (feedback *WalkFeedback) AddOtherStack(addr frames.Addr) {
	feedback.readAgainIf(feedback.copies.addOtherStack(addr))
	feedback.handOver()
}

// ExtendOtherStack is [copyLearner.extendOtherStack].
func (feedback *WalkFeedback) ExtendOtherStack(addr frames.Addr, n uint64) {
	feedback.copies.extendOtherStack(addr, n)
	feedback.handOver()
}

// StopForRegister makes the next observation stop the sleeper for a missing register, if that is permitted and
// harmless.
func (feedback *WalkFeedback) StopForRegister(s *RawSample) {
	feedback.recordMissingRegister(s)
	feedback.handOver()
}

// copyHints is what a thread's walks ask of its next observations ([WalkFeedback.Walked]).
type copyHints struct {
	stack stackHints
	reads readHints
}

type readHints struct {
	// MissingRegisterSite is the [siteKey] where a passive read lacked a register, or 0.
	MissingRegisterSite uint64
	// If Retries differs from the last one, an unchanged thread is read again.
	Retries uint32
	// the walk lacked memory or a rule that may appear later (exec, dlopen)
	Incomplete bool
	Plan       *managed.Plan // or nil
	Anchor     frames.Addr   // where the plan begins, or 0
}
