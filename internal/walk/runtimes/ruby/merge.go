// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Values of [managed.Ref.Kind].
const (
	kindCode = iota
	kindFreed
)

// ManagedFrames implements [managed.FrameSource]. It hides the interpreter's code.
func (r *Runtime) ManagedFrames(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	w := &r.walk
	refs, replacesFrame = r.appendRuns(f, cfa, out)
	hidden := r.hidesModule && managed.SameModule(f.Module, r.module) || r.yjit.has(f.PC)
	return refs, replacesFrame || len(w.runs) > 0 && !w.broken && hidden
}

func (r *Runtime) appendRuns(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	w := &r.walk
	if w.unfinished = cfa == 0; w.unfinished || w.broken || f.SP == 0 {
		return out, false
	}
	if cfa == managed.Outermost {
		return r.appendRefs(w.firstOutsideRuns, len(w.frames), out), false
	}
	for w.nextRun < len(w.runs) && w.runs[w.nextRun].tag >= f.SP && w.runs[w.nextRun].tag < cfa {
		run := &w.runs[w.nextRun]
		if !r.tagged.confirmExecPC(f) {
			w.broken = true
			return out, false
		}
		out = r.appendRefs(run.from, run.to, out)
		w.nextRun++
		replacesFrame = true
	}
	return out, replacesFrame
}

// confirmExecPC requires, unless execPC is certain, a pc near Ruby's instructions.
func (info *tagInfo) confirmExecPC(f *frames.Frame) bool {
	if info.execPCCertain || info.vmExec.End != 0 {
		return true
	}
	info.execPCCertain = distance(f.LookupPC(frames.X86_64), info.handlerCode) < maxExecDistance
	if !info.execPCCertain {
		info.execPC = 0
	}
	return info.execPCCertain
}

const maxExecDistance = 256 << 10

func (r *Runtime) appendRefs(from, to int, out []managed.Ref) []managed.Ref {
	w := &r.walk
	skip := false
	for i := from; i < to; i++ {
		f := &w.frames[i]
		switch {
		case f.flags&magicMask == magicCFunc:
			out, _ = r.appendRef(f, f.method, isMethod, 0, out)
		case f.pc != 0 && f.iseq != 0:
			if skip {
				skip = false
				continue
			}
			out, skip = r.appendRef(f, f.iseq, isCode, f.pc, out)
		}
		if w.broken {
			return out
		}
	}
	return out
}

// appendRef appends a frame's Ref; skip means that it also stands for the next frame outwards.
func (r *Runtime) appendRef(f *frame, object uint64, kind objectKind, pc uint64, out []managed.Ref) (refs []managed.Ref,
	skip bool) {
	c, status := r.known.resolve(object, kind, f)
	switch status {
	case managed.NotObject:
		r.walk.broken = true
	case managed.ObjectFreed:
		out = append(out, managed.Ref{Kind: kindFreed})
	case managed.ObjectKnown:
		ref := managed.Ref{Object: c.function.object, Cookie: c.Serial, Kind: kindCode}
		if kind == isCode {
			if pc < c.code || pc > c.code+c.size*8 {
				r.walk.broken = f != &r.walk.frames[0]
				return out, false
			}
			ref.Position = (pc - c.code) / 8 & (1<<32 - 1)
			ref.Position |= r.known.ownerSerial(f, c) << 32
		}
		out, skip = append(out, ref), c.function.label.handler
	}
	return out, skip
}

func (c *objectCache) ownerSerial(f *frame, o *object) uint64 {
	if !c.currentHeap.qualified || !o.function.label.owned {
		return 0
	}
	entry := c.entryOf(f)
	if entry == 0 {
		return 0
	}
	owner, status := c.resolve(entry, isOwner, f)
	if status != managed.ObjectKnown {
		return 0
	}
	return owner.Serial
}

// End implements [managed.FrameSource].
func (r *Runtime) End() managed.Health {
	w := &r.walk
	switch {
	case w.broken, w.view.UsedLive && !w.view.Sample.Live.Unchanged():
		return managed.Broken
	case w.nextRun < len(w.runs) && !w.unfinished:
		return managed.Unmatched
	}
	return managed.Matched
}

// Symbolize implements [managed.FrameSource].
func (r *Runtime) Symbolize(ref managed.Ref, _ managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	c := r.known.objects.Of(ref.Cookie)
	if ref.Kind != kindCode || c == nil {
		return append(out, managed.Frame{}), managed.Freed
	}
	f := managed.Frame{File: c.function.file, StartLine: c.function.first}
	owner := ""
	if c.function.kind == isMethod {
		f.Type = typeC
	} else {
		f.Line = c.function.lines.lineAt(ref.Position & (1<<32 - 1))
		if o := r.known.objects.Of(ref.Position >> 32); o != nil && o.function.kind == isOwner {
			owner = o.function.label.name
		}
	}
	f.Function = c.function.label.with(owner)
	return append(out, f), managed.Checked
}

const typeC = "cfunc"
