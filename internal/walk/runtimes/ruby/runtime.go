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
	managed.BaseThreads
	version     string
	module      *frames.Module
	hidesModule bool
	plan        *managed.Plan

	vm      rubyVM
	tagged  tagInfo
	yjit    yjitCode
	objects objectCache
	names   names
	view    managed.View
	walk    walk
	fibers  fibers
}

func newRuntime(h managed.Host, m *frames.Module, l *layout) *Runtime {
	r := &Runtime{module: m, hidesModule: ownFile.MatchString(path.Base(m.Name))}
	r.vm = rubyVM{heap: heap{l, hostMemory{h}}, host: h}
	r.objects.walk = &r.walk
	r.objects.currentHeap, r.objects.copiedHeap = heap{l, &r.view.Pages}, heap{l, copiedMemory{&r.view}}
	r.walk.View = &r.view
	r.fibers = fibers{Runtime: r, pool: fiberPool{rubyVM: &r.vm}}
	return r
}

var _ managed.Threads = (*Runtime)(nil)

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "Ruby " + r.version }

// Module implements [managed.Runtime].
func (r *Runtime) Module() *frames.Module { return r.module }

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	r.vm.host, r.vm.memory = h, hostMemory{h}
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
	r.objects.forget()
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
	l := r.vm.layout
	steps := slices.Concat(frameSteps(l), nameSteps(l), youngSteps(l), classSteps(l), nativeSteps(l), r.vm.lockSteps())
	r.plan = &managed.Plan{Steps: steps, Skip: &r.objects.Skip}
}

func copyObject(off int64, size uint32) managed.Step {
	return managed.CopyTargetsStep(off, 0, size, maxNew).WithPage()
}

func copyControlFrames(l *layout) managed.Step {
	return managed.CopyArrayStep(slotFrame, slotEnd, uint32(l.frameSize), maxFrameBytes)
}

func frameSteps(l *layout) []managed.Step {
	return []managed.Step{
		managed.CopyStep(managed.SlotAnchor, 0, uint32(l.threadSize)),
		managed.LoadStep(managed.SlotAnchor, l.threadEC, slotEC),
		managed.CopyStep(slotEC, 0, ecCopied),
		managed.LoadStep(slotEC, ecStack, slotStack),
		managed.LoadStep(slotEC, ecStack, slotEnd),
		managed.AddScaledStep(slotEC, ecSize, 8, slotEnd),
		managed.LoadStep(slotEC, ecFrame, slotFrame),
		copyControlFrames(l),
		managed.LoadStep(slotFrame, frameSP, slotSP),
		managed.CopyUpToStep(slotStack, slotSP, maxValues),
	}
}

// nameSteps copies methods and iseqs, and their labels. It saves the iseqs.
func nameSteps(l *layout) []managed.Step {
	return []managed.Step{
		managed.CopyTargetsStep(frameEP, epMethodEntry, 24, managed.MaxNodes),
		copyObject(epMethodEntry, methodSize).Where(0, magicMask, magicCFunc),
		managed.CopyTargetsStep(methodDef, 0, defSize, maxNew),
		copyControlFrames(l),
		copyObject(frameISeq, 24),
		managed.SaveNodesStep(),
		managed.CopyTargetsStep(iseqBody, 0, bodyCopied, maxNew).Where(0, imemoBits, imemo(imemoISeq)),
		copyObject(bodyLabel, labelCopied),
		managed.CopyTargetsStep(textAddr, 0, textCopied, maxNew),
	}
}

func classSteps(l *layout) []managed.Step {
	if !l.qualified {
		return nil
	}
	return []managed.Step{
		copyControlFrames(l),
		managed.CopyTargetsStep(frameEP, epMethodEntry, 24, managed.MaxNodes),
		managed.SaveNodesStep(),
		copyObject(epMethodEntry, methodSize),
		managed.RestoreNodesStep(),
		managed.CopyTargetsStep(-8, epMethodEntry, 24, maxNew),
		managed.CopyTargetsStep(epMethodEntry, 0, methodSize, maxNew),
	}
}

func nativeSteps(l *layout) []managed.Step {
	if l.nativeID == 0 {
		return nil
	}
	return []managed.Step{
		managed.LoadStep(managed.SlotAnchor, l.threadNative, slotNative),
		managed.CopyStep(slotNative, l.nativeID, 16),
	}
}

func (m *rubyVM) lockSteps() []managed.Step {
	if !m.hasRactors() {
		return []managed.Step{managed.CopyStep(managed.SlotZero, int64(m.addr)+m.lock.at, lockCopied)}
	}
	return []managed.Step{
		managed.LoadStep(managed.SlotAnchor, threadRactor, slotRactor),
		managed.CopyStep(slotRactor, m.ractorThreads+m.lock.at, lockCopied),
	}
}

// For iseqs that may be freed soon, as of eval: number, bytes.
const (
	maxYoung     = 6
	pathCopied   = 256
	linesCopied  = 4 << 10
	placesCopied = 1 << 10
)

func youngSteps(l *layout) []managed.Step {
	restoreMarked := managed.RestoreNodesStep()
	return []managed.Step{
		restoreMarked,
		managed.CopyTargetsStep(iseqBody, 0, bodyCopied, maxYoung).Unless(0, l.oldMask(), l.oldMask()),
		managed.SaveNodesStep(),
		managed.CopyTargetsStep(bodyPath, 0, labelCopied, maxYoung), // string, or array of strings
		managed.CopyTargetsStep(arrayShort, 0, labelCopied, maxYoung).Unless(0, typeMask, typeString),
		managed.CopyTargetsStep(textAddr, 0, pathCopied, maxYoung),
		restoreMarked,
		managed.CopyTargetsStep(bodyPath, 0, labelCopied, maxYoung),
		managed.CopyTargetsStep(textAddr, 0, pathCopied, maxYoung).Unless(0, typeMask, typeArray),
		restoreMarked,
		managed.CopyTargetsStep(l.bodyInfo+infoEntries, 0, linesCopied, maxYoung),
		restoreMarked,
		managed.CopyTargetsStep(l.bodyInfo+infoSucc, 0, placesCopied, maxYoung),
	}
}
