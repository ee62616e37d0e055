// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// Entry is a native or managed frame of a stack.
type Entry struct {
	Frame frames.Frame // native; of a managed entry the one that runs it
	// Namer is the run-time system of a managed frame, nil for a native one.
	Namer managed.Namer
	Ref   managed.Ref
	// Compiled: Frame.PC is in the managed frame's own code, and the native frame has no entry.
	Compiled bool
	// Machinery: a native frame that runs the managed ones before it, such as an interpreter's loop. It is shown on
	// request.
	Machinery bool
}

// Merger passes a walk's native frames to the process's run-time systems, and inserts their managed frames. The zero
// value is ready. Results are valid until the next Begin.
type Merger struct {
	namers     []managed.Namer
	natives    []native
	refs       []managed.Ref
	entries    []Entry
	pending    frames.Frame // until the next frame gives its CFA
	hasPending bool
}

// native is a native frame with the end of its refs, all of one namer.
type native struct {
	frame         frames.Frame
	namer         int  // index in Merger.namers; -1: none recognised the frame
	end           int  // in Merger.refs; they begin where those of the frame before end
	replacesFrame bool // the refs replace the frame
}

// Begin begins a walk.
func (m *Merger) Begin(namers []managed.Namer, s *managed.Sample) {
	m.namers, m.hasPending = namers, false
	m.natives, m.refs = m.natives[:0], m.refs[:0]
	for _, n := range namers {
		n.Begin(s)
	}
}

// Add takes a native frame, innermost first. Run-time systems get it one frame later, with its CFA.
func (m *Merger) Add(f *frames.Frame) {
	if m.hasPending {
		m.flushPending(f.SP)
	}
	m.pending, m.hasPending = *f, true
}

// flushPending passes the pending frame to the run-time systems in order; the first that recognises it owns it.
func (m *Merger) flushPending(cfa frames.Addr) {
	n := native{frame: m.pending, namer: -1}
	for i, namer := range m.namers {
		before := len(m.refs)
		m.refs, n.replacesFrame = namer.Native(&m.pending, cfa, m.refs)
		if len(m.refs) > before || n.replacesFrame {
			n.namer = i
			break
		}
	}
	n.end = len(m.refs)
	m.natives = append(m.natives, n)
}

// End returns the whole stack, innermost first. complete: the last frame is the outermost.
func (m *Merger) End(complete bool) []Entry {
	if m.hasPending {
		cfa := frames.Addr(0)
		if complete {
			cfa = managed.Outermost
		}
		m.flushPending(cfa)
		m.hasPending = false
	}
	broken := uint64(0) // bit i: namers[i] is broken (at most 64 namers)
	for i, n := range m.namers {
		if n.End() == managed.Broken {
			broken |= 1 << i
		}
	}
	return m.merge(broken)
}

// merge puts the managed frames among the native ones, without those of the run-time systems in broken.
func (m *Merger) merge(broken uint64) []Entry {
	m.entries = m.entries[:0]
	begin := 0
	for i := range m.natives {
		n := &m.natives[i]
		refs := m.refs[begin:n.end]
		begin = n.end
		if n.namer < 0 || broken&(1<<n.namer) != 0 {
			m.entries = append(m.entries, Entry{Frame: n.frame})
			continue
		}
		compiled := n.replacesFrame && len(refs) > 0 && n.frame.Module != nil && n.frame.Module.Generated
		for _, r := range refs {
			e := Entry{Frame: n.frame, Namer: m.namers[n.namer], Ref: r, Compiled: compiled}
			m.entries = append(m.entries, e)
		}
		if !compiled {
			m.entries = append(m.entries, Entry{Frame: n.frame, Machinery: n.replacesFrame})
		}
	}
	return m.entries
}
