// SPDX-License-Identifier: Apache-2.0

package cpython

import "prywalk/internal/walk/managed"

const (
	maxChunk = 32 << 10 // bytes
	maxHeads = 64
)

const (
	slotChunk = managed.SlotFirstFree + iota
	slotTop
	slotFrame
	slotCFrame
	slotPrev
	slotPrevFrame
	slotState
)

// makePlan makes the plan of what an observation copies:
//
//	thread state ─► data stack (newest chunk)
//	      │
//	      └► (_PyCFrame, 3.11 and 3.12) ─► innermost frame ─► previous ─► …   generators' frames lie in the heap
//	                                             └► head of the code object, unless it is known
func (r *Runtime) makePlan() {
	load := managed.LoadStep
	chain := func(base uint8) managed.Step {
		return managed.CopyListStep(base, uint32(r.frameSize), int32(r.framePrev))
	}
	steps := []managed.Step{managed.CopyStep(managed.SlotAnchor, 0, uint32(r.threadSize))}
	if r.gil.at != 0 {
		steps = append(steps, managed.CopyStep(managed.SlotZero, int64(r.gil.at), gilHead).WhenAsleep())
	}
	if r.threadChunk != 0 {
		steps = append(steps,
			load(managed.SlotAnchor, r.threadChunk, slotChunk), load(managed.SlotAnchor, r.threadTop, slotTop),
			managed.CopyUpToStep(slotChunk, slotTop, maxChunk))
	}
	if r.cframe {
		steps = append(steps,
			load(managed.SlotAnchor, r.threadFrame, slotCFrame), load(slotCFrame, r.cframeCurrent, slotFrame))
	} else {
		steps = append(steps, load(managed.SlotAnchor, r.threadFrame, slotFrame))
	}
	steps = append(steps, chain(slotFrame),
		managed.CopyTargetsStep(r.frameCode, 0, uint32(r.codeHead), maxHeads))
	if r.codeVersion == 0 {
		steps = append(steps, managed.CopyTargetsStep(r.codeName, textHash, 8, maxHeads))
	}
	if r.cframe { // the newest may have no frame yet
		steps = append(steps, load(slotCFrame, r.cframePrev, slotPrev), load(slotPrev, r.cframeCurrent, slotPrevFrame),
			chain(slotPrevFrame))
	}
	r.plan = &managed.Plan{Steps: steps, FindAnchor: r.findSteps(), Skip: &r.codes.kept.Skip}
}

const maxStatesSearched = 16

func (r *Runtime) findSteps() []managed.Step {
	id, want := r.threadID, uint8(managed.SlotThreadPointer)
	if r.threadNative != 0 {
		id, want = r.threadNative, managed.SlotInnerTID
	}
	return []managed.Step{
		managed.LoadStep(managed.SlotZero, int64(r.threads.head), slotState),
		managed.FindNodeStep(slotState, uint32(r.threadSize), int32(r.threadNext), int32(id), want, maxStatesSearched),
	}
}
