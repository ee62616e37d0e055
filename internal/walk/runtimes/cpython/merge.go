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
	*frameChain
	frameSlots       frameSlots
	nextRun          int         // innermost run without a native frame
	evalFrames       []evalFrame // native frames of the evaluation loop so far, before 3.11
	unfinished       bool        // the native walk may lack its outer end
	searchedAnywhere bool
}

func (m *merge) begin() {
	m.read()
	m.nextRun, m.evalFrames, m.unfinished, m.searchedAnywhere = 0, m.evalFrames[:0], false, false
}

// ManagedFrames implements [managed.FrameSource]. The interpreter's code is hidden in a thread that runs Python code;
// if not all calls could be read, not outside of the outermost one read.
func (m *merge) ManagedFrames(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	refs, replacesFrame = m.appendRuns(f, cfa, out)
	lost := m.incomplete && m.nextRun == len(m.runs) // the remaining native frames may have other callers
	return refs, replacesFrame || m.hidesModule && len(m.runs) > 0 && m.owns(f.Module) && !lost
}

func (m *merge) appendRuns(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	if m.unfinished = cfa == 0; m.unfinished || m.broken || f.SP == 0 || cfa == managed.Outermost {
		return out, false
	}
	if m.hasFrameObjects() {
		return m.objectsFrame(f, cfa, out)
	}
	if c := m.cframeBeingFilled; c >= f.SP && c < cfa && m.minor == 12 {
		m.cframeBeingFilled = 0
		if m.nextRun == 0 && (len(m.runs) == 0 || m.runs[0].record < f.SP || m.runs[0].record >= cfa) {
			// Just entered: its _PyCFrame still has the caller's frame.
			m.chainFrom(m.Value(c + uint64(m.cframePrev)))
			return out, false
		}
	}
	for m.nextRun < len(m.runs) && m.runs[m.nextRun].record >= f.SP && m.runs[m.nextRun].record < cfa {
		out = m.appendRun(&m.runs[m.nextRun], out)
		m.nextRun++
		replacesFrame = true
	}
	return out, replacesFrame
}

func (m *merge) objectsFrame(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (
	refs []managed.Ref, replacesFrame bool,
) {
	if m.state == 0 || !m.inEvalLoop(f.LookupPC(m.Sample.Regs.Arch)) {
		return out, false
	}
	first := len(m.evalFrames) == 0
	from := m.Sample.Regs.SP()
	if !first {
		from = m.evalFrames[len(m.evalFrames)-1].cfa
	}
	m.evalFrames = append(m.evalFrames, evalFrame{f.SP, cfa})
	if m.nextRun == len(m.runs) {
		m.broken = !first && !m.incomplete && !m.shared
		return out, false
	}
	if !first {
		out = m.appendDelegating(cfa, out)
	}
	run := &m.runs[m.nextRun]
	switch {
	case m.runsObject(run.record, from, f.SP, cfa):
		m.nextRun++
		return m.appendRun(run, out), true
	case !first: // perhaps in its prologue or epilogue
		m.broken = true
	}
	return out, false
}

// appendDelegating adds generators that pass throw() on: the loop does not run their frames meanwhile (_gen_throw,
// Objects/genobject.c, 3.9 and 3.10), and the slot of the native frame has that of a caller.
func (m *merge) appendDelegating(cfa uint64, out []managed.Ref) []managed.Ref {
	n := m.nextRun
	for ; n < len(m.runs); n++ {
		at := m.runs[n].record
		keeps, known := m.frameSlots.keeps(at, cfa, m.Sample.Mem.Word)
		if keeps && known {
			break
		}
		if gen, ok := m.Word(at + uint64(m.frameInstr) - 8); !known || !ok || gen == 0 { // f_gen
			return out
		}
	}
	if n == len(m.runs) {
		return out
	}
	for ; m.nextRun < n; m.nextRun++ {
		out = m.appendRun(&m.runs[m.nextRun], out)
	}
	return out
}

// runsObject reports whether a native frame of the loop stores a frame object's address: at its slot, or, while that is
// unknown, anywhere, or in a saved register.
func (m *merge) runsObject(object, from, sp, cfa uint64) bool {
	if keeps, known := m.frameSlots.keeps(object, cfa, m.Sample.Mem.Word); known {
		return keeps
	}
	m.searchedAnywhere = true
	inRegs := func() bool { return m.InRegs(func(v uint64) bool { return v == object }) }
	return m.hasOnStack(object, from, sp, cfa) || len(m.evalFrames) == 1 && inRegs()
}

const (
	maxKept  = 8 << 10 // bytes
	maxHoles = 1 << 10 // words
)

// hasOnStack searches a native frame and, from address from on, those that it called.
func (m *merge) hasOnStack(word, from, sp, cfa uint64) bool {
	mem := m.Sample.Mem
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
	for i := range m.frames[run.from:run.to] {
		f := &m.frames[run.from+i]
		switch c, status := m.codes.resolve(f.code); status {
		case managed.NotObject:
			m.broken = true
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
func (m *merge) End() managed.Health {
	if len(m.evalFrames) > 0 && !m.unfinished && !m.incomplete && !m.shared {
		m.frameSlots.learn(m.evalFrames, m.runs, m.Sample.Mem.Word)
	}
	switch {
	case m.unfinished && m.searchedAnywhere: // a complete walk would show that each has its own
		return managed.Broken
	case m.broken, m.UsedLive && !m.Sample.Live.Unchanged():
		return managed.Broken
	case m.nextRun < len(m.runs) && !m.unfinished:
		if m.hasFrameObjects() {
			return managed.Broken
		}
		return managed.Unmatched
	}
	return managed.Matched
}
