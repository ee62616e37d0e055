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
	load := func(base uint8, off int64, to uint8) managed.Step {
		return managed.Step{Op: managed.Load, Base: base, Off: off, To: to}
	}
	chain := func(base uint8) managed.Step {
		return managed.Step{Op: managed.CopyList, Base: base, Size: uint32(r.python.frameSize),
			Next: int32(r.python.framePrev),
			Max:  managed.MaxNodes}
	}
	steps := []managed.Step{{Op: managed.Copy, Base: managed.SlotAnchor, Max: uint32(r.python.threadSize)}}
	if r.gil.at != 0 {
		steps = append(steps, managed.Step{Op: managed.Copy, Base: managed.SlotZero, Off: int64(r.gil.at), Max: gilHead,
			OnlyAsleep: true})
	}
	if r.python.threadChunk != 0 {
		steps = append(steps,
			load(managed.SlotAnchor, r.python.threadChunk, slotChunk), load(managed.SlotAnchor, r.python.threadTop, slotTop),
			managed.Step{Op: managed.Copy, Base: slotChunk, End: slotTop, Max: maxChunk})
	}
	if r.python.cframe {
		steps = append(steps,
			load(managed.SlotAnchor, r.python.threadFrame, slotCFrame), load(slotCFrame, r.python.cframeCurrent, slotFrame))
	} else {
		steps = append(steps, load(managed.SlotAnchor, r.python.threadFrame, slotFrame))
	}
	steps = append(steps, chain(slotFrame),
		managed.Step{Op: managed.CopyTargets, Off: r.python.frameCode, Size: uint32(r.python.codeHead), Max: maxHeads})
	if r.python.codeVersion == 0 {
		hash := managed.Step{Op: managed.CopyTargets, Off: r.python.codeName, Next: textHash, Size: 8, Max: maxHeads}
		steps = append(steps, hash)
	}
	if r.python.cframe { // the newest may have no frame yet
		steps = append(steps, load(slotCFrame, r.python.cframePrev, slotPrev),
			load(slotPrev, r.python.cframeCurrent, slotPrevFrame),
			chain(slotPrevFrame))
	}
	r.plan = &managed.Plan{Steps: steps, FindAnchor: r.findSteps(), Skip: &r.codes.kept.Skip}
}

const maxStatesSearched = 16

func (r *Runtime) findSteps() []managed.Step {
	id, want := r.python.threadID, uint8(managed.SlotThreadPointer)
	if r.python.threadNative != 0 {
		id, want = r.python.threadNative, managed.SlotInnerTID
	}
	return []managed.Step{
		{Op: managed.Load, Base: managed.SlotZero, Off: int64(r.threads.head), To: slotState},
		{Op: managed.FindNode, Base: slotState, Size: uint32(r.python.threadSize), Next: int32(r.python.threadNext),
			At:  int32(id),
			End: want, Max: maxStatesSearched},
	}
}
