// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// Runtime is an interpreter in a process. It implements [managed.Planner].
type Runtime struct {
	layout
	version  string
	module   *frames.Module
	name     string // the module's
	folds    bool   // all of its code is the interpreter's, not that of a program with an interpreter inside
	at, size uint64 // of _PyRuntime
	gil      uint64 // the lock of the main interpreter; 0: not known
	gilTries int    // how often it was sought again
	gilAt    int64  // when it was sought last, CLOCK_MONOTONIC in nanoseconds
	codeType uint64
	loop     []span // of releases before 3.11
	slots    slots
	host     managed.Host
	plan     *managed.Plan

	threads threads
	threadNames
	codes codes
	heads heads
	pages livePages
	locks locks
	walk
}

var _ managed.Planner = (*Runtime)(nil)

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "CPython " + r.version }

// Adopt implements [managed.Runtime].
func (r *Runtime) Adopt(h managed.Host) bool {
	r.host = h
	endGreenlets(h)
	for _, m := range h.Modules() {
		if m.Name == r.name && m.Bias == r.module.Bias {
			r.module = m
			return true
		}
	}
	return false
}

// Changed implements [managed.Runtime]: there are no rules.
func (r *Runtime) Changed() bool { return false }

// Forget implements [managed.Runtime].
func (r *Runtime) Forget() {
	r.codes.forget()
	r.threads = threads{}
	r.forgetNames()
	r.locks = locks{}
}

// Plan implements [managed.Planner].
func (r *Runtime) Plan() *managed.Plan { return r.plan }

// What a plan copies at most.
const (
	mostChunk = 32 << 10 // of the newest chunk of the data stack
	mostNodes = managed.MaxNodes
	mostHeads = 64
)

// Slots of the plan.
const (
	slotChunk = 4 + iota
	slotTop
	slotFrame
	slotCFrame
	slotPrev
	slotPrevFrame
)

// makePlan says what is copied of a thread.
func (r *Runtime) makePlan() {
	load := func(base uint8, off int64, to uint8) managed.Step {
		return managed.Step{Op: managed.Load, Base: base, Off: off, To: to}
	}
	chain := func(base uint8) managed.Step {
		return managed.Step{Op: managed.Chain, Base: base, Max: mostNodes, Size: uint32(r.frameSize),
			Next: int32(r.framePrev)}
	}
	steps := []managed.Step{{Op: managed.Copy, Max: uint32(r.threadSize)}}
	if r.gil != 0 {
		steps = append(steps, managed.Step{Op: managed.Copy, Base: managed.SlotZero, Off: int64(r.gil), Max: gilHead,
			Asleep: true})
	}
	if r.threadChunk != 0 {
		steps = append(steps, load(0, r.threadChunk, slotChunk), load(0, r.threadTop, slotTop),
			managed.Step{Op: managed.Copy, Base: slotChunk, End: slotTop, Max: mostChunk})
	}
	if r.cframe {
		steps = append(steps, load(0, r.threadFrame, slotCFrame), load(slotCFrame, r.cframeCurrent, slotFrame))
	} else {
		steps = append(steps, load(0, r.threadFrame, slotFrame))
	}
	steps = append(steps, chain(slotFrame),
		managed.Step{Op: managed.Each, Off: r.frameCode, Max: mostHeads, Size: uint32(r.codeHead)})
	if r.codeVersion == 0 {
		steps = append(steps, managed.Step{Op: managed.Each, Off: r.codeName, Max: mostHeads, Next: textHash, Size: 8})
	}
	if r.cframe { // for the moment in which the newest one has no frame yet
		steps = append(steps, load(slotCFrame, r.cframePrev, slotPrev), load(slotPrev, r.cframeCurrent, slotPrevFrame),
			chain(slotPrevFrame))
	}
	r.plan = &managed.Plan{Steps: steps, Find: r.findSteps(), Known: &r.codes.known}
	if r.gil != 0 {
		r.plan.Lock = [2]uint64{r.gil + gilCond, r.gil + gilCondEnd}
	}
}

// mostSought is how many of the newest thread states are looked at in a stop for that of a new thread.
const mostSought = 16

// findSteps find the state of a thread that is new: the newest are the first of their list.
func (r *Runtime) findSteps() []managed.Step {
	const slotTLS, slotTID = 2, 3
	id, want := r.threadID, uint8(slotTLS)
	if r.threadNative != 0 {
		id, want = r.threadNative, slotTID
	}
	return []managed.Step{
		{Op: managed.Load, Off: int64(r.threads.head), To: slotChunk},
		{Op: managed.Seek, Base: slotChunk, Size: uint32(r.threadSize), Next: int32(r.threadNext), At: int32(id), End: want,
			Max: mostSought},
	}
}

// read64 reads a word of the process as it is now, 0 if it cannot be read.
func (r *Runtime) read64(addr uint64) uint64 {
	var b [8]byte
	if r.host.Read(addr, b[:]) != len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}
