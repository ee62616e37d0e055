// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"path"
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// Runtime is Ruby in a process. It implements [managed.FrameSource].
type Runtime struct {
	managed.Base
	managed.BaseThreads
	version     string
	module      *frames.Module
	hidesModule bool // it is the interpreter's alone
	plan        *managed.Plan

	vm      rubyVM
	tagged  tagInfo
	yjit    yjitCode
	objects objectCache
	names   names
	view    managed.View
	walk    walk
}

func newRuntime(h managed.Host, m *frames.Module, l *layout) *Runtime {
	r := &Runtime{module: m, hidesModule: ownFile.MatchString(path.Base(m.Name))}
	r.vm = rubyVM{heap: heap{l, hostMemory{h}}, host: h}
	r.objects.walk = &r.walk
	r.objects.currentHeap, r.objects.copiedHeap = heap{l, currentMemory{&r.view}}, heap{l, copiedMemory{&r.view}}
	r.walk.View = &r.view
	return r
}

var _ managed.FrameSource = (*Runtime)(nil)

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "Ruby " + r.version }

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
func (r *Runtime) Anchor(tid int, pthread uint64) (uint64, bool) {
	return r.vm.anchor(tid, pthread)
}

// Plan implements [managed.FrameSource].
func (r *Runtime) Plan() *managed.Plan { return r.plan }

// In bytes, maxNew in objects.
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

// makePlan makes the plan of a stop's copies: the thread's control frames and values, then what names their code, then
// what shows the thread's native ID and the lock of the interpreter.
func (r *Runtime) makePlan() {
	l := r.vm.layout
	steps := slices.Concat(frameSteps(l), nameSteps(l), youngSteps(l), classSteps(l), nativeSteps(l), r.vm.lockSteps())
	r.plan = &managed.Plan{Steps: steps, Skip: &r.objects.known}
}

func loadStep(base uint8, off int64, to uint8) managed.Step {
	return managed.Step{Op: managed.Load, Base: base, Off: off, To: to}
}

// copyTargets copies, for each node, size bytes at next beyond the address at off, for at most most nodes
// ([managed.CopyTargets]).
func copyTargets(off int64, next int32, size, most uint32) managed.Step {
	return managed.Step{Op: managed.CopyTargets, Off: off, Next: next, Size: size, Max: most}
}

func copyObject(off int64, size uint32) managed.Step {
	return managed.Step{Op: managed.CopyTargets, Off: off, Size: size, Max: maxNew, WholePage: true}
}

func copyControlFrames(l *layout) managed.Step {
	return managed.Step{
		Op: managed.CopyArray, Base: slotFrame, End: slotEnd, Max: maxFrameBytes, Size: uint32(l.frameSize),
	}
}

// frameSteps copies the thread, its execution context, control frames and values.
func frameSteps(l *layout) []managed.Step {
	return []managed.Step{
		{Op: managed.Copy, Max: uint32(l.threadSize)},
		loadStep(managed.SlotAnchor, l.threadEC, slotEC),
		{Op: managed.Copy, Base: slotEC, Max: ecCopied},
		loadStep(slotEC, ecStack, slotStack),
		loadStep(slotEC, ecStack, slotEnd),
		{Op: managed.AddScaled, Base: slotEC, Off: ecSize, Size: 8, To: slotEnd},
		loadStep(slotEC, ecFrame, slotFrame),
		copyControlFrames(l),
		loadStep(slotFrame, frameSP, slotSP),
		{Op: managed.Copy, Base: slotStack, End: slotSP, Max: maxValues},
	}
}

// nameSteps copies the methods and iseqs of the control frames, and their labels. It marks the iseqs.
func nameSteps(l *layout) []managed.Step {
	return []managed.Step{
		copyTargets(frameEP, epMethodEntry, 24, managed.MaxNodes),
		filtered(copyObject(epMethodEntry, methodSize), magicMask, magicCFunc),
		copyTargets(methodDef, 0, defSize, maxNew),
		copyControlFrames(l),
		copyObject(frameISeq, 24),
		{Op: managed.SaveNodes},
		filtered(copyTargets(iseqBody, 0, bodyCopied, maxNew), imemoBits, imemoBitsISeq),
		copyObject(bodyLabel, labelCopied),
		copyTargets(textAddr, 0, textCopied, maxNew),
	}
}

// classSteps copies the method entries that lead to the classes of qualified names.
func classSteps(l *layout) []managed.Step {
	if !l.qualified {
		return nil
	}
	return []managed.Step{
		copyControlFrames(l),
		copyTargets(frameEP, epMethodEntry, 24, managed.MaxNodes),
		{Op: managed.SaveNodes},
		copyObject(epMethodEntry, methodSize),
		{Op: managed.RestoreNodes},
		copyTargets(-8, epMethodEntry, 24, maxNew),
		copyTargets(epMethodEntry, 0, methodSize, maxNew),
	}
}

func nativeSteps(l *layout) []managed.Step {
	if l.nativeID == 0 {
		return nil
	}
	return []managed.Step{
		loadStep(managed.SlotAnchor, l.threadNative, slotNative),
		{Op: managed.Copy, Base: slotNative, Off: l.nativeID, Max: 16},
	}
}

// lockSteps copies the interpreter's lock, which is in the VM or in the thread's ractor.
func (m *rubyVM) lockSteps() (steps []managed.Step) {
	l := m.layout
	lock := managed.Step{Op: managed.Copy, Base: managed.SlotZero, Off: int64(m.addr) + l.lock.at, Max: lockCopied}
	if l.vmThreads == 0 {
		lock.Base, lock.Off = slotRactor, l.ractorThreads+l.lock.at
		steps = append(steps, loadStep(managed.SlotAnchor, threadRactor, slotRactor))
	}
	if l.lock.queue != 0 {
		steps = append(steps, lock)
	}
	return steps
}

func filtered(s managed.Step, mask, value uint64) managed.Step {
	s.Mask, s.Value = mask, value
	return s
}

func except(s managed.Step, mask, value uint64) managed.Step {
	s.Except = true
	return filtered(s, mask, value)
}

// For iseqs that may be freed soon, as of eval: number, bytes.
const (
	maxYoung     = 6
	pathCopied   = 256
	linesCopied  = 4 << 10
	placesCopied = 1 << 10
)

// youngSteps copies names and lines of the innermost young iseqs of the mark.
func youngSteps(l *layout) []managed.Step {
	restoreMarked := managed.Step{Op: managed.RestoreNodes}
	return []managed.Step{
		restoreMarked,
		except(copyTargets(iseqBody, 0, bodyCopied, maxYoung), l.oldMask(), l.oldMask()),
		{Op: managed.SaveNodes},
		copyTargets(bodyPath, 0, labelCopied, maxYoung), // string, or array of strings
		except(copyTargets(arrayShort, 0, labelCopied, maxYoung), typeMask, typeString),
		copyTargets(textAddr, 0, pathCopied, maxYoung),
		restoreMarked,
		copyTargets(bodyPath, 0, labelCopied, maxYoung),
		except(copyTargets(textAddr, 0, pathCopied, maxYoung), typeMask, typeArray),
		restoreMarked,
		copyTargets(l.bodyInfo+infoEntries, 0, linesCopied, maxYoung),
		restoreMarked,
		copyTargets(l.bodyInfo+infoSucc, 0, placesCopied, maxYoung),
	}
}
