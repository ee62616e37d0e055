// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// Kinds of refs.
const (
	kindCode = iota
	kindFreed
)

// Native implements [managed.Namer]. In a thread that runs Python code all of the interpreter's own code is machinery.
func (r *Runtime) Native(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (refs []managed.Ref, instead bool) {
	refs, instead = r.runsHere(f, cfa, out)
	lost := r.wasCut && r.next == len(r.runs) // whose calls the rest of the machinery makes is not known
	return refs, instead || r.folds && len(r.runs) > 0 && r.owns(f.Module) && !lost
}

// owns reports whether a module is the interpreter's.
func (r *Runtime) owns(m *frames.Module) bool {
	return m != nil && (m == r.module || m.Bias == r.module.Bias && m.Name == r.name)
}

// runsHere is Native for the Python frames that a native frame runs; instead: there are some.
func (r *Runtime) runsHere(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (refs []managed.Ref, instead bool) {
	w := &r.walk
	if w.unfinished = cfa == 0; w.unfinished || w.broken || f.SP == 0 || cfa == managed.Outermost {
		return out, false
	}
	if r.minor <= 10 {
		return r.objectsFrame(f, cfa, out)
	}
	if c := w.cframe0; c >= f.SP && c < cfa && r.minor == 12 {
		w.cframe0 = 0
		if w.next == 0 && (len(w.runs) == 0 || w.runs[0].record < f.SP || w.runs[0].record >= cfa) {
			// The loop has just been entered: the frame that its _PyCFrame leads to is not yet its own.
			r.chainFrom(w.word(c + uint64(r.cframePrev)))
			return out, false
		}
	}
	for w.next < len(w.runs) && w.runs[w.next].record >= f.SP && w.runs[w.next].record < cfa {
		out = r.appendRun(&w.runs[w.next], out)
		w.next++
		instead = true
	}
	return out, instead
}

// objectsFrame is Native for releases whose frames are objects: a native frame of the loop runs one, whose address it
// keeps.
func (r *Runtime) objectsFrame(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (refs []managed.Ref, instead bool) {
	w := &r.walk
	if w.state == 0 || !r.inLoop(f.Lookup(w.sample.Regs.Arch)) {
		return out, false
	}
	first := len(w.loops) == 0
	from := w.sample.Regs.SP()
	if !first {
		from = w.loops[len(w.loops)-1].cfa
	}
	w.loops = append(w.loops, loopFrame{f.SP, cfa})
	if w.next == len(w.runs) {
		w.broken = !first && !w.wasCut && !w.shared
		return out, false
	}
	run := &w.runs[w.next]
	switch {
	case r.runsObject(run.record, from, f.SP, cfa):
		w.next++
		return r.appendRun(run, out), true
	case !first: // the innermost may have just been entered, or is about to be left
		w.broken = true
	}
	return out, false
}

// runsObject reports whether a native frame of the loop keeps the address of a frame object: at its place, or, while
// that is not known, anywhere. It can then also keep it in a register, which a function further in has saved.
func (r *Runtime) runsObject(object, from, sp, cfa uint64) bool {
	w := &r.walk
	if keeps, known := r.slots.keeps(object, cfa, w.sample.Mem.Word); known {
		return keeps
	}
	w.guessed = true
	return r.keeps(object, from, sp, cfa) || len(w.loops) == 1 && w.inRegs(object)
}

// inLoop reports whether an address is in the code of the interpreter's loop.
func (r *Runtime) inLoop(pc uint64) bool {
	for _, s := range r.loop {
		if pc >= s.start && pc < s.end {
			return true
		}
	}
	return false
}

// mostKept is how many bytes below a frame of the loop are searched for a register that it kept.
const mostKept = 8 << 10

// keeps reports whether a word lies in the memory of a native frame, or of those that it has called.
func (r *Runtime) keeps(word, from, sp, cfa uint64) bool {
	mem := r.sample.Mem
	if from > sp || sp-from > mostKept {
		from = sp - min(sp, mostKept)
	}
	for at := sp; at+8 <= cfa; at += 8 {
		if v, ok := mem.Word(at); ok && v == word {
			return true
		}
	}
	for at := from; at < sp; at += 8 {
		if v, ok := mem.Word(at); ok && v == word {
			return true
		}
	}
	return false
}

// inRegs reports whether a register of the sample has the word.
func (w *walk) inRegs(word uint64) bool {
	regs := w.sample.Regs
	for i := range frames.NumRegs {
		if v, ok := regs.Get(uint8(i)); ok && v == word {
			return true
		}
	}
	return false
}

// appendRun appends the frames of a run.
func (r *Runtime) appendRun(run *run, out []managed.Ref) []managed.Ref {
	w := &r.walk
	for i := range w.chain[run.from:run.to] {
		f := &w.chain[run.from+i]
		switch c, what := r.resolve(f.code); what {
		case notCode:
			w.broken = true
			return out
		case isFreed:
			out = append(out, managed.Ref{Kind: kindFreed})
		case isKnown:
			if !c.shim {
				out = append(out, managed.Ref{Object: f.code, Position: uint64(uint32(f.offset)), Cookie: c.serial, Kind: kindCode})
			}
		}
	}
	return out
}

// End implements [managed.Namer].
func (r *Runtime) End() managed.Health {
	w := &r.walk
	if w.loops != nil && !w.unfinished && !w.wasCut && !w.shared {
		r.slots.learn(w.loops, w.runs, w.sample.Mem.Word)
	}
	switch {
	case w.unfinished && w.guessed: // only the outer end shows whether each has its own
		return managed.Broken
	case w.broken, w.used && !w.sample.Live.Unchanged():
		return managed.Broken
	case w.next < len(w.runs) && !w.unfinished:
		if r.minor <= 10 { // one of the loop's native frames was not known as such: who knows which
			return managed.Broken
		}
		return managed.Left
	}
	return managed.Matched
}

// Describe implements [managed.Namer].
func (r *Runtime) Describe(ref managed.Ref, _ managed.Live, out []managed.Frame) ([]managed.Frame, managed.Truth) {
	c := r.codes.bySerial[ref.Cookie]
	if ref.Kind != kindCode || c == nil {
		return append(out, managed.Frame{}), managed.Freed
	}
	return append(out, managed.Frame{
		Function: c.name, File: c.file, StartLine: c.id.first,
		Line: lineOf(r.minor, c.table, c.id.first, int(int32(ref.Position))),
	}), managed.Checked
}
