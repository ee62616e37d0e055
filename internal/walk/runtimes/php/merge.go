// SPDX-License-Identifier: Apache-2.0

package php

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Values of [managed.Ref.Kind].
const (
	kindFunction = iota
	kindFreed
)

// ManagedFrames implements [managed.FrameSource]. The engine's code is hidden.
func (r *Runtime) ManagedFrames(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	w := &r.walk
	w.unfinished = cfa == 0
	leaf := w.frames == 0 // the first that is offered
	w.frames++
	if w.broken || f.SP == 0 {
		return out, false
	}
	w.trackStackChange(f, leaf)
	executes := cfa != 0 && cfa != managed.Outermost && r.inExecuteEx(f.LookupPC(r.host.Arch()))
	if executes && r.thread == 0 && !r.threadSafe { // hasExecuteEx searches only the innermost stack
		r.thread = w.view.Sample.InnerTID
		r.readCalls(w.view.Value(r.globals + uint64(r.layout.current)))
	}
	if len(w.runs) == 0 {
		return out, false
	}
	lost := w.incomplete && w.nextRun == len(w.runs) // native frames of unread calls
	if executes {
		if lost {
			return out, false
		}
		return r.appendRunsOf(f, leaf, out), true
	}
	if cfa == managed.Outermost && w.restIsOfFiber() {
		replacesFrame = w.nextRun < len(w.runs)
		out = r.appendRuns(len(w.runs)-w.nextRun, out)
	}
	hidden := !lost && (managed.SameModule(f.Module, r.module) || r.walk.isRegexCode(f))
	return out, replacesFrame || hidden
}

func (w *walk) trackStackChange(f *frames.Frame, leaf bool) {
	switch {
	case !leaf && !f.AfterCall: // by a signal, perhaps on another stack, whose frame has the registers
		w.signal = managed.Span{Start: w.executeSP, End: w.lastSP + maxContext}
		w.executeSP = f.SP
	case f.SP < w.lastSP || f.SP-w.lastSP > maxFrameDistance: // another stack, as of Go
		w.executeSP = f.SP
	}
	w.lastSP = f.SP
}

// restIsOfFiber reports whether the runs left at the outermost frame are of what resumes or starts the fiber.
func (w *walk) restIsOfFiber() bool {
	return !w.incomplete && (w.nextRun == w.runsOnStack || w.executeFrames == 0)
}

const (
	maxFrameDistance = 1 << 20 // bytes
	maxContext       = 1 << 10 // bytes up to a signal frame's registers (struct rt_sigframe)
)

func (w *walk) isRegexCode(f *frames.Frame) bool {
	return f.Module != nil && f.Module.Generated && w.nextRun == 0 && isPrivateMemory(f.Module)
}

func (r *Runtime) appendRunsOf(f *frames.Frame, leaf bool, out []managed.Ref) []managed.Ref {
	w := &r.walk
	parts := [2]managed.Span{w.signal, {Start: w.executeSP, End: f.SP}}
	w.executeFrames++
	w.executeSP, w.signal = f.SP, managed.Span{}
	n := r.countRunsOf(f, leaf, parts)
	if n == 0 {
		w.recordEmptyFrame()
	}
	return r.appendRuns(n, out)
}

// countRunsOf returns how many of the next runs are of a frame of execute_ex with parts of the stack. The first row
// that applies decides:
//
//	innermost, register known     1 if it begins or its register leads to the run's record, else 0
//	the run's record is kept      1; 2 if C is entering this innermost run, and the next one's is kept, too
//	an inner record is kept       1, in the first frame of execute_ex
//	register unknown              1, by order only
//	else                          0
func (r *Runtime) countRunsOf(f *frames.Frame, leaf bool, parts [2]managed.Span) int {
	w := &r.walk
	if w.nextRun >= w.runsOnStack {
		return 0
	}
	current := &w.runs[w.nextRun]
	data, known := w.view.Sample.Regs.Get(r.dataReg)
	if leaf && known {
		begins := f.PC-r.executeEx.Start < maxPrologue &&
			w.view.InRegs(func(v uint64) bool { return v == current.user })
		if begins || w.runsInnermost(data, current) {
			return 1
		}
		return 0
	}
	kept := w.keeps(current.user, parts)
	switch {
	case w.nextRun == 0 && kept && r.isEntering(current) && w.keeps(w.runs[1].user, parts):
		return 2
	case kept, w.executeFrames == 1 && w.hasInnerOnStack(current, parts):
		return 1
	case !known: // not in a stop, and saved by no function
		w.pairedByOrder = true
		return 1
	}
	return 0
}

// recordEmptyFrame records a frame without a run: only the innermost frame of execute_ex can lack one.
func (w *walk) recordEmptyFrame() {
	w.broken = w.broken || w.emptyFrame || w.nextRun > 0
	w.emptyFrame = true
}

// isEntering reports whether the innermost run may be a call that C is entering, without a frame of execute_ex: its
// opline is after the opcodes of its arguments (i_init_func_execute_data, Zend/zend_execute.c).
func (r *Runtime) isEntering(current *run) bool {
	w := &r.walk
	if current.to != 1 || w.runsOnStack < 2 || w.calls[0].function == nil {
		return false
	}
	c := &w.calls[0]
	arguments := w.view.Value(c.at+callInfo) >> 32
	at := c.function.position(c.opline)
	if ip, ok := w.view.Sample.Regs.Get(r.oplineReg); ok && c.function.position(ip) > arguments+1 {
		return false
	}
	return at > 0 && at <= arguments+1
}

// runsInnermost reports whether the innermost native frame, with data in its register, runs the innermost run. A call
// that begins or ends, or is inlined by the JIT, is only in the register or only in the globals.
func (w *walk) runsInnermost(data uint64, current *run) bool {
	switch {
	case current.user == 0:
		return false
	case data == current.user, w.leadsTo(data, current.user):
		return true
	}
	prev, ok := w.view.Sample.Mem.Word(current.user + callPrev)
	return ok && prev == data && !w.isTop(current.user)
}

const maxInner = 16

func (w *walk) leadsTo(data, user uint64) bool {
	for range maxInner {
		if data%8 != 0 || w.isTop(data) {
			return false
		}
		prev, ok := w.view.Sample.Mem.Word(data + callPrev)
		if !ok {
			return false
		}
		if data = prev; data == user {
			return true
		}
	}
	return false
}

const maxInnerDistance = 16 << 10 // bytes

func (w *walk) hasInnerOnStack(current *run, parts [2]managed.Span) bool {
	if current.user == 0 {
		return false
	}
	inner := func(v uint64) bool {
		return v-current.user < maxInnerDistance && v != current.user && w.leadsTo(v, current.user)
	}
	return w.view.InRegs(inner) || w.isInParts(parts, inner)
}

// isTop reports whether the call has the flag ZEND_CALL_TOP, or is unreadable.
func (w *walk) isTop(data uint64) bool {
	info, ok := w.view.Sample.Mem.Word(data + callInfo)
	return !ok || info&callTop != 0
}

// keeps reports whether data is in the registers, of the first frame of execute_ex, or on the stack.
func (w *walk) keeps(data uint64, parts [2]managed.Span) bool {
	isData := func(v uint64) bool { return v == data }
	return data != 0 && (w.executeFrames == 1 && w.view.InRegs(isData) || w.isInParts(parts, isData))
}

// appendRuns appends the calls of the next n runs.
func (r *Runtime) appendRuns(n int, out []managed.Ref) []managed.Ref {
	w := &r.walk
	if n == 0 {
		return out
	}
	first := w.runs[w.nextRun].from
	w.nextRun += n
	for i := first; i < w.runs[w.nextRun-1].to; i++ {
		c := &w.calls[i]
		if c.function == nil {
			out = append(out, managed.Ref{Kind: kindFreed})
			continue
		}
		ref := managed.Ref{Object: c.functionAt, Cookie: c.function.Serial, Kind: kindFunction}
		if c.kind != typeInternal {
			ref.Position = c.function.position(r.oplineOf(c, i))
		}
		out = append(out, ref)
	}
	return out
}

func (r *Runtime) oplineOf(c *executeData, i int) uint64 {
	if i == 0 {
		if ip, ok := r.walk.view.Sample.Regs.Get(r.oplineReg); ok && c.function.position(ip) != 0 {
			return ip
		}
	}
	return c.opline
}

// End implements [managed.FrameSource].
func (r *Runtime) End() managed.Health {
	switch {
	case r.walk.broken, r.walk.view.UsedLive && !r.walk.view.Sample.Live.Unchanged():
		return managed.Broken
	case r.walk.unfinished && r.walk.pairedByOrder: // an order without its outer end
		return managed.Broken
	case r.walk.nextRun < r.walk.runsOnStack && !r.walk.unfinished && r.walk.executeFrames > 0:
		return managed.Broken // an unknown frame of execute_ex
	case r.walk.nextRun < len(r.walk.runs) && !r.walk.unfinished:
		return managed.Unmatched
	}
	return managed.Matched
}

// Symbolize implements [managed.FrameSource].
func (r *Runtime) Symbolize(ref managed.Ref, _ managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	f := r.functions.objects.Of(ref.Cookie)
	if ref.Kind != kindFunction || f == nil {
		return append(out, managed.Frame{}), managed.Freed
	}
	return append(out, managed.Frame{
		Function: f.name, File: f.file, StartLine: f.first, Line: f.line(ref.Position), Type: f.frameType,
	}), managed.Checked
}
