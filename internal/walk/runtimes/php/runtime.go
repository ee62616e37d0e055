// SPDX-License-Identifier: Apache-2.0

package php

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Runtime is PHP in a process. It implements [managed.Threads].
type Runtime struct {
	managed.Base
	layout             layout
	version            string
	module             *frames.Module
	executeEx, cold    managed.Span
	globals            uint64 // executor globals; 0 in a thread-safe build
	threadSafe         bool
	tls                int64 // from the thread pointer to the pointer to a thread's globals
	executorOffset     uint64
	threads            managed.ThreadPointers
	oneRequest         bool  // declared functions are not freed
	dataReg, oplineReg uint8 // DWARF numbers
	signedChar         bool
	host               managed.Host
	plan               *managed.Plan
	jit                jitCode
	thread             int // the only one that runs PHP; 0 means unknown

	functions functionCache
	view      managed.View
	walk      walk
	fibers    fibers
}

var _ managed.Threads = (*Runtime)(nil)

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "PHP " + r.version }

// Module implements [managed.Runtime].
func (r *Runtime) Module() *frames.Module { return r.module }

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	r.host = h
	m := managed.ModuleAgain(h, r.module)
	if m == nil {
		return false
	}
	r.module = m
	r.adoptCode(h)
	return true
}

// Forget implements [managed.Runtime].
func (r *Runtime) Forget() { r.functions.forget() }

// Plan implements [managed.FrameSource].
func (r *Runtime) Plan() *managed.Plan { return r.plan }

// Anchor implements [managed.FrameSource]: executor globals.
func (r *Runtime) Anchor(tid int, threadPointer uint64) (uint64, bool) {
	if !r.threadSafe {
		return r.globals, r.thread == 0 || r.thread == tid
	}
	if threadPointer == 0 {
		var ok bool
		if threadPointer, ok = r.threads.PointerOf(r.host, tid); !ok {
			return 0, false
		}
	}
	cache := r.read64(threadPointer + uint64(r.tls))
	return cache + r.executorOffset, cache != 0
}

const (
	maxStack     = 32 << 10 // bytes
	maxFunctions = 64
	maxWaiting   = 8
)

const (
	slotPage = managed.SlotFirstFree + iota
	slotTop
	slotCall
)

// makePlan plans copies of the newest page of the engine's stack, the calls, functions' identities, and texts of those
// that can be freed.
func (r *Runtime) makePlan() {
	load := func(off int64, to uint8) managed.Step {
		return managed.Step{Op: managed.Load, Base: managed.SlotAnchor, Off: off, To: to}
	}
	each := func(off int64, next int32, size uint32) managed.Step {
		return managed.Step{Op: managed.CopyTargets, Off: off, Next: next, Size: size, Max: maxFunctions}
	}
	again := managed.Step{Op: managed.RestoreNodes}
	// Functions that can be freed are neither internal (bit 0 of the type) nor in opcache's memory.
	text := func(off int64, most uint32) managed.Step {
		s := each(off, 0, textContent+most)
		s.At, s.Mask = funcType, 1|flagImmutable<<32
		return s
	}
	waiting := managed.Step{Op: managed.CopyTargets, Off: callThis, Size: uint32(r.layout.generatorFake), Max: maxWaiting,
		At: callFunc, Mask: ^uint64(0)}
	r.plan = &managed.Plan{Skip: &r.functions.objects.Skip, Steps: []managed.Step{
		{Op: managed.Copy, Base: managed.SlotAnchor, Off: r.layout.current + globalsVMStackTop, Max: 8 - globalsVMStackTop},
		load(r.layout.current, slotCall),
		load(r.layout.current+globalsVMStack, slotPage),
		load(r.layout.current+globalsVMStackTop, slotTop),
		{Op: managed.Copy, Base: slotPage, End: slotTop, Max: maxStack},
		{Op: managed.CopyList, Base: slotCall, Size: callSize, Next: callPrev, Max: managed.MaxNodes},
		each(callFunc, 0, uint32(r.layout.headSize)),
		text(funcName, maxName),
		again,
		each(callFunc, 0, uint32(r.layout.headSize)), // copied above
		text(r.layout.file, maxFile),
		again,
		waiting,
		each(r.layout.generator, 0, uint32(r.layout.generatorFake)),
		again,
		waiting,
		each(r.layout.generatorData, 0, callSize),
		each(callFunc, 0, uint32(r.layout.headSize)),
		text(funcName, maxName),
	}}
}

func (r *Runtime) read64(addr uint64) uint64 {
	v, _ := managed.ReadWord(r.host, addr)
	return v
}
