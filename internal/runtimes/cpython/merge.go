// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

const (
	kindCode = iota
	kindFreed
)

// merge assigns a walk's Python frames to its native frames.
type merge struct {
	*frameChain
	frameSlots       frameSlots
	nextRun          int         // innermost run without a native frame
	evalFrames       []evalFrame // native frames of the evaluation loop so far, before 3.11
	unfinished       bool        // the native walk may lack its outer end
	searchedAnywhere bool        // without a known slot
}

func (w *merge) begin() {
	w.read()
	w.nextRun, w.evalFrames, w.unfinished, w.searchedAnywhere = 0, w.evalFrames[:0], false, false
}

// ManagedFrames implements [managed.FrameSource]. In a thread that runs Python code the interpreter's code is hidden.
func (w *merge) ManagedFrames(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	refs, replacesFrame = w.appendRuns(f, cfa, out)
	lost := w.incomplete && w.nextRun == len(w.runs) // the remaining native frames may have other callers
	return refs, replacesFrame || w.hidesModule && len(w.runs) > 0 && w.owns(f.Module) && !lost
}

// appendRuns appends a native frame's Python frames; replacesFrame: there are some.
func (w *merge) appendRuns(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	if w.unfinished = cfa == 0; w.unfinished || w.broken || f.SP == 0 || cfa == managed.Outermost {
		return out, false
	}
	if w.minor <= 10 {
		return w.objectsFrame(f, cfa, out)
	}
	if c := w.cframeBeingFilled; c >= f.SP && c < cfa && w.minor == 12 {
		w.cframeBeingFilled = 0
		if w.nextRun == 0 && (len(w.runs) == 0 || w.runs[0].record < f.SP || w.runs[0].record >= cfa) {
			// Just entered: its _PyCFrame still has the caller's frame.
			w.chainFrom(w.Value(c + uint64(w.cframePrev)))
			return out, false
		}
	}
	for w.nextRun < len(w.runs) && w.runs[w.nextRun].record >= f.SP && w.runs[w.nextRun].record < cfa {
		out = w.appendRun(&w.runs[w.nextRun], out)
		w.nextRun++
		replacesFrame = true
	}
	return out, replacesFrame
}

// objectsFrame is appendRuns for releases with frame objects.
func (w *merge) objectsFrame(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	if w.state == 0 || !w.inEvalLoop(f.LookupPC(w.Sample.Regs.Arch)) {
		return out, false
	}
	first := len(w.evalFrames) == 0
	from := w.Sample.Regs.SP()
	if !first {
		from = w.evalFrames[len(w.evalFrames)-1].cfa
	}
	w.evalFrames = append(w.evalFrames, evalFrame{f.SP, cfa})
	if w.nextRun == len(w.runs) {
		w.broken = !first && !w.incomplete && !w.shared
		return out, false
	}
	run := &w.runs[w.nextRun]
	switch {
	case w.runsObject(run.record, from, f.SP, cfa):
		w.nextRun++
		return w.appendRun(run, out), true
	case !first: // the innermost may be in its prologue or epilogue
		w.broken = true
	}
	return out, false
}

// runsObject reports whether a native frame of the loop stores a frame object's address: at its slot, or, while that is
// unknown, anywhere, or in a register that an inner function saved.
func (w *merge) runsObject(object, from, sp, cfa uint64) bool {
	if keeps, known := w.frameSlots.keeps(object, cfa, w.Sample.Mem.Word); known {
		return keeps
	}
	w.searchedAnywhere = true
	inRegs := func() bool { return w.InRegs(func(v uint64) bool { return v == object }) }
	return w.hasOnStack(object, from, sp, cfa) || len(w.evalFrames) == 1 && inRegs()
}

const (
	// maxKept bounds the search below a frame of the loop, bytes.
	maxKept = 8 << 10
	// maxHoles bounds the words of a search that were not copied (a copy can have holes): 8 KiB.
	maxHoles = 1 << 10
)

// hasOnStack reports whether word is in a native frame or, from address from on, in those that it called.
func (w *merge) hasOnStack(word, from, sp, cfa uint64) bool {
	mem := w.Sample.Mem
	if from > sp || sp-from > maxKept {
		from = sp - min(sp, maxKept)
	}
	holes := 0
	for at := from; at+8 <= cfa && holes < maxHoles; at += 8 {
		v, ok := mem.Word(at)
		if ok && v == word {
			return true
		}
		if !ok {
			holes++
		}
	}
	return false
}

func (w *merge) appendRun(run *run, out []managed.Ref) []managed.Ref {
	for i := range w.frames[run.from:run.to] {
		f := &w.frames[run.from+i]
		switch c, status := w.codes.resolve(f.code); status {
		case managed.NotObject:
			w.broken = true
			return out
		case managed.ObjectFreed:
			out = append(out, managed.Ref{Kind: kindFreed})
		case managed.ObjectKnown:
			if !c.shim {
				out = append(out, managed.Ref{Object: f.code, Position: uint64(uint32(f.offset)), Cookie: c.Serial, Kind: kindCode})
			}
		}
	}
	return out
}

// End implements [managed.FrameSource].
func (w *merge) End() managed.Health {
	if len(w.evalFrames) > 0 && !w.unfinished && !w.incomplete && !w.shared {
		w.frameSlots.learn(w.evalFrames, w.runs, w.Sample.Mem.Word)
	}
	switch {
	case w.unfinished && w.searchedAnywhere: // a complete walk would show that each has its own
		return managed.Broken
	case w.broken, w.UsedLive && !w.Sample.Live.Unchanged():
		return managed.Broken
	case w.nextRun < len(w.runs) && !w.unfinished:
		if w.minor <= 10 { // a native frame of the loop was not recognized
			return managed.Broken
		}
		return managed.Unmatched
	}
	return managed.Matched
}
