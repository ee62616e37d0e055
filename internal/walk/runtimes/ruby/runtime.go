// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"path"
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Runtime is Ruby in a process. It implements [managed.Threads].
type Runtime struct {
	managed.Base
	version     string
	module      *frames.Module
	hidesModule bool
	plan        *managed.Plan

	vm     rubyVM
	tagged tagInfo
	yjit   yjitCode
	known  objectCache
	names  names
	view   managed.View
	walk   walk
	fibers fibers
}

func newRuntime(h managed.Host, m *frames.Module, l *layout) *Runtime {
	r := &Runtime{module: m, hidesModule: ownFile.MatchString(path.Base(m.Name))}
	r.vm = rubyVM{heap: heap{l, hostMemory{h}}, host: h}
	r.known.walk = &r.walk
	r.known.currentHeap, r.known.copiedHeap = heap{l, &r.view.Pages}, heap{l, copiedMemory{&r.view}}
	r.walk.view = &r.view
	r.fibers = fibers{ruby: r, pool: fiberPool{vm: &r.vm}}
	return r
}

var _ managed.Threads = (*Runtime)(nil)

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "Ruby " + r.version }

// Module implements [managed.Runtime].
func (r *Runtime) Module() *frames.Module { return r.module }

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	r.vm.host, r.vm.heap.memory = h, hostMemory{h}
	m := managed.ModuleAgain(h, r.module)
	if m == nil {
		return false
	}
	r.module = m
	r.yjit.adopt(h, r, m)
	return true
}

// Forget implements [managed.Runtime].
func (r *Runtime) Forget() {
	r.known.forget()
	r.vm.threads = threads{}
	r.names = names{}
}

// Anchor implements [managed.FrameSource]: rb_thread_t.
func (r *Runtime) Anchor(tid int, threadPointer uint64) (uint64, bool) {
	return r.vm.anchor(tid, threadPointer)
}

// Plan implements [managed.FrameSource].
func (r *Runtime) Plan() *managed.Plan { return r.plan }

const (
	maxFrameBytes = 64 << 10
	maxValues     = 128 << 10
	maxNew        = 128
	labelCopied   = 80
	textCopied    = 96
)

const (
	slotEC = managed.SlotFirstFree + iota
	slotStack
	slotEnd
	slotFrame
	slotSP
	slotNative
	slotRactor
)

// makePlan plans copies of control frames and values, what names their code, the native thread ID, and the lock.
func (r *Runtime) makePlan() {
	l := r.vm.heap.layout
	steps := slices.Concat(frameSteps(l), nameSteps(l), classSteps(l), nativeSteps(l), r.vm.lockSteps())
	r.plan = &managed.Plan{Steps: steps, Skip: &r.known.objects.Skip}
}

func copyObject(off int64, size uint32) managed.Step {
	return managed.Step{Op: managed.CopyTargets, Off: off, Size: size, Max: maxNew, WholePage: true}
}

func copyControlFrames(l *layout) managed.Step {
	return managed.Step{
		Op: managed.CopyArray, Base: slotFrame, End: slotEnd, Size: uint32(l.frameSize), Max: maxFrameBytes,
	}
}

func frameSteps(l *layout) []managed.Step {
	return []managed.Step{
		{Op: managed.Copy, Base: managed.SlotAnchor, Max: uint32(l.threadSize)},
		{Op: managed.Load, Base: managed.SlotAnchor, Off: l.threadEC, To: slotEC},
		{Op: managed.Copy, Base: slotEC, Max: ecCopied},
		{Op: managed.Load, Base: slotEC, Off: ecStack, To: slotStack},
		{Op: managed.Load, Base: slotEC, Off: ecStack, To: slotEnd},
		{Op: managed.AddScaled, Base: slotEC, Off: ecSize, Size: 8, To: slotEnd},
		{Op: managed.Load, Base: slotEC, Off: ecFrame, To: slotFrame},
		copyControlFrames(l),
		{Op: managed.Load, Base: slotFrame, Off: frameSP, To: slotSP},
		{Op: managed.Copy, Base: slotStack, End: slotSP, Max: maxValues},
	}
}

// nameSteps copies methods and iseqs, and their labels.
func nameSteps(l *layout) []managed.Step {
	return []managed.Step{
		{Op: managed.CopyTargets, Off: frameEP, Next: epMethodEntry, Size: 24, Max: managed.MaxNodes},
		{Op: managed.CopyTargets, Off: epMethodEntry, Size: methodSize, Max: maxNew, WholePage: true,
			Mask: magicMask, Value: magicCFunc},
		{Op: managed.CopyTargets, Off: methodDef, Size: defSize, Max: maxNew},
		copyControlFrames(l),
		copyObject(frameISeq, 24),
		{Op: managed.CopyTargets, Off: iseqBody, Size: bodyCopied, Max: maxNew, Mask: imemoBits,
			Value: imemo(imemoISeq)},
		copyObject(bodyLabel, labelCopied),
		{Op: managed.CopyTargets, Off: textAddr, Size: textCopied, Max: maxNew},
	}
}

func classSteps(l *layout) []managed.Step {
	if !l.qualified {
		return nil
	}
	return []managed.Step{
		copyControlFrames(l),
		{Op: managed.CopyTargets, Off: frameEP, Next: epMethodEntry, Size: 24, Max: managed.MaxNodes},
		{Op: managed.SaveNodes},
		copyObject(epMethodEntry, methodSize),
		{Op: managed.RestoreNodes},
		{Op: managed.CopyTargets, Off: -8, Next: epMethodEntry, Size: 24, Max: maxNew},
		{Op: managed.CopyTargets, Off: epMethodEntry, Size: methodSize, Max: maxNew},
	}
}

func nativeSteps(l *layout) []managed.Step {
	if l.nativeID == 0 {
		return nil
	}
	return []managed.Step{
		{Op: managed.Load, Base: managed.SlotAnchor, Off: l.threadNative, To: slotNative},
		{Op: managed.Copy, Base: slotNative, Off: l.nativeID, Max: 16},
	}
}

func (m *rubyVM) lockSteps() []managed.Step {
	if !m.heap.hasRactors() {
		return []managed.Step{{Op: managed.Copy, Base: managed.SlotZero, Off: int64(m.addr) + m.heap.lock.at,
			Max: lockCopied}}
	}
	return []managed.Step{
		{Op: managed.Load, Base: managed.SlotAnchor, Off: threadRactor, To: slotRactor},
		{Op: managed.Copy, Base: slotRactor, Off: m.heap.ractorThreads + m.heap.lock.at, Max: lockCopied},
	}
}
