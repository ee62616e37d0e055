// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const (
	kindCode = iota
	kindFreed
)

type merge struct {
	chain            *frameChain
	frameSlots       frameSlots
	nextRun          int         // innermost run without a native frame
	evalFrames       []evalFrame // native frames of the evaluation loop so far, before 3.11
	unfinished       bool        // the native walk may lack its outer end
	searchedAnywhere bool
}

func (m *merge) begin() {
	m.chain.read()
	m.nextRun, m.evalFrames, m.unfinished, m.searchedAnywhere = 0, m.evalFrames[:0], false, false
}

// ManagedFrames implements [managed.FrameSource]. The interpreter's code is hidden in a thread that runs Python code;
// if not all calls could be read, not outside of the outermost one read.
func (r *Runtime) ManagedFrames(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	refs, replacesFrame = r.merge.appendRuns(f, cfa, out)
	// the remaining native frames may have other callers
	lost := r.merge.chain.incomplete && r.merge.nextRun == len(r.merge.chain.runs)
	return refs, replacesFrame || r.python.hidesModule && len(r.merge.chain.runs) > 0 && r.python.owns(f.Module) && !lost
}

func (m *merge) appendRuns(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	if m.unfinished = cfa == 0; m.unfinished || m.chain.broken || f.SP == 0 || cfa == managed.Outermost {
		return out, false
	}
	if m.chain.python.hasFrameObjects() {
		return m.objectsFrame(f, cfa, out)
	}
	if c := m.chain.cframeBeingFilled; c >= f.SP && c < cfa && m.chain.python.minor == 12 {
		m.chain.cframeBeingFilled = 0
		if m.nextRun == 0 && (len(m.chain.runs) == 0 || m.chain.runs[0].record < f.SP || m.chain.runs[0].record >= cfa) {
			// Just entered: its _PyCFrame still has the caller's frame.
			m.chain.chainFrom(m.chain.view.Value(c + uint64(m.chain.python.cframePrev)))
			return out, false
		}
	}
	for m.nextRun < len(m.chain.runs) && m.chain.runs[m.nextRun].record >= f.SP && m.chain.runs[m.nextRun].record < cfa {
		out = m.appendRun(&m.chain.runs[m.nextRun], out)
		m.nextRun++
		replacesFrame = true
	}
	return out, replacesFrame
}

func (m *merge) objectsFrame(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	if m.chain.state == 0 || !m.chain.python.inEvalLoop(f.LookupPC(m.chain.view.Sample.Regs.Arch)) {
		return out, false
	}
	first := len(m.evalFrames) == 0
	from := m.chain.view.Sample.Regs.SP()
	if !first {
		from = m.evalFrames[len(m.evalFrames)-1].cfa
	}
	m.evalFrames = append(m.evalFrames, evalFrame{f.SP, cfa})
	if m.nextRun == len(m.chain.runs) {
		m.chain.broken = !first && !m.chain.incomplete && !m.chain.shared
		return out, false
	}
	if !first {
		out = m.appendDelegating(cfa, out)
	}
	run := &m.chain.runs[m.nextRun]
	switch {
	case m.runsObject(run.record, from, f.SP, cfa):
		m.nextRun++
		return m.appendRun(run, out), true
	case !first: // perhaps in its prologue or epilogue
		m.chain.broken = true
	}
	return out, false
}

// appendDelegating adds generators that pass throw() on: the loop does not run their frames meanwhile (_gen_throw,
// Objects/genobject.c, 3.9 and 3.10), and the slot of the native frame has that of a caller.
func (m *merge) appendDelegating(cfa uint64, out []managed.Ref) []managed.Ref {
	n := m.nextRun
	for ; n < len(m.chain.runs); n++ {
		at := m.chain.runs[n].record
		keeps, known := m.frameSlots.keeps(at, cfa, m.chain.view.Sample.Mem.Word)
		if keeps && known {
			break
		}
		if gen, ok := m.chain.view.Word(at + uint64(m.chain.python.frameInstr) - 8); !known || !ok || gen == 0 { // f_gen
			return out
		}
	}
	if n == len(m.chain.runs) {
		return out
	}
	for ; m.nextRun < n; m.nextRun++ {
		out = m.appendRun(&m.chain.runs[m.nextRun], out)
	}
	return out
}

// runsObject reports whether a native frame of the loop stores a frame object's address: at its slot, or, while that is
// unknown, anywhere, or in a saved register.
func (m *merge) runsObject(object, from, sp, cfa uint64) bool {
	if keeps, known := m.frameSlots.keeps(object, cfa, m.chain.view.Sample.Mem.Word); known {
		return keeps
	}
	m.searchedAnywhere = true
	inRegs := func() bool { return m.chain.view.InRegs(func(v uint64) bool { return v == object }) }
	return m.hasOnStack(object, from, sp, cfa) || len(m.evalFrames) == 1 && inRegs()
}

const (
	maxKept  = 8 << 10 // bytes
	maxHoles = 1 << 10 // words
)

// hasOnStack searches a native frame and, from address from on, those that it called.
func (m *merge) hasOnStack(word, from, sp, cfa uint64) bool {
	mem := m.chain.view.Sample.Mem
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

func (m *merge) appendRun(run *run, out []managed.Ref) []managed.Ref {
	for i := range m.chain.frames[run.from:run.to] {
		f := &m.chain.frames[run.from+i]
		switch c, status := m.chain.codes.resolve(f.code); status {
		case managed.NotObject:
			m.chain.broken = true
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
func (r *Runtime) End() managed.Health {
	if len(r.merge.evalFrames) > 0 && !r.merge.unfinished && !r.merge.chain.incomplete && !r.merge.chain.shared {
		r.merge.frameSlots.learn(r.merge.evalFrames, r.merge.chain.runs, r.merge.chain.view.Sample.Mem.Word)
	}
	switch {
	case r.merge.unfinished && r.merge.searchedAnywhere: // a complete walk would show that each has its own
		return managed.Broken
	case r.merge.chain.broken, r.merge.chain.view.UsedLive && !r.merge.chain.view.Sample.Live.Unchanged():
		return managed.Broken
	case r.merge.nextRun < len(r.merge.chain.runs) && !r.merge.unfinished:
		if r.python.hasFrameObjects() {
			return managed.Broken
		}
		return managed.Unmatched
	}
	return managed.Matched
}
