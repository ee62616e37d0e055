// SPDX-License-Identifier: Apache-2.0

// Package callstack merges a walk's native frames with the managed frames of runtimes into one stack.
package callstack

import (
	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Entry is a native or managed frame of a stack.
type Entry struct {
	Frame frames.Frame // native; of a managed entry the one that runs it
	// Source is nil for a native frame.
	Source managed.FrameSource
	Ref    managed.Ref
	// Compiled: Frame.PC is in the managed frame's own code.
	Compiled bool
	// Machinery is a native frame that runs the managed ones before it, such as an interpreter's loop.
	Machinery bool
}

// Merger inserts the managed frames of a process's runtimes into a walk. The zero value is ready. Results are valid
// until the next Begin.
type Merger struct {
	sources    []managed.FrameSource
	natives    []native
	refs       []managed.Ref
	entries    []Entry
	pending    frames.Frame // waits for its CFA
	hasPending bool
}

type native struct {
	frame         frames.Frame
	source        int // −1 if none recognised the frame
	end           int // of its refs, which begin at the end of the frame before
	replacesFrame bool
}

// Begin begins a walk.
func (m *Merger) Begin(sources []managed.FrameSource, s *managed.Sample) {
	m.sources, m.hasPending = sources, false
	m.natives, m.refs = m.natives[:0], m.refs[:0]
	for _, n := range sources {
		n.Begin(s)
	}
}

// Add takes a native frame, innermost first.
func (m *Merger) Add(f *frames.Frame) {
	if m.hasPending {
		m.flushPending(f.SP)
	}
	m.pending, m.hasPending = *f, true
}

func (m *Merger) flushPending(cfa frames.Addr) {
	n := native{frame: m.pending, source: -1}
	for i, source := range m.sources {
		before := len(m.refs)
		m.refs, n.replacesFrame = source.ManagedFrames(&m.pending, cfa, m.refs)
		if len(m.refs) > before || n.replacesFrame {
			n.source = i
			break
		}
	}
	n.end = len(m.refs)
	m.natives = append(m.natives, n)
}

// End returns the stack, innermost first. complete means that the last frame is the outermost.
func (m *Merger) End(complete bool) []Entry {
	if m.hasPending {
		cfa := frames.Addr(0)
		if complete {
			cfa = managed.Outermost
		}
		m.flushPending(cfa)
		m.hasPending = false
	}
	broken := uint64(0) // bit i: sources[i] (at most 64)
	for i, n := range m.sources {
		if n.End() == managed.Broken {
			broken |= 1 << i
		}
	}
	return m.merge(broken)
}

func (m *Merger) merge(broken uint64) []Entry {
	m.entries = m.entries[:0]
	begin := 0
	for i := range m.natives {
		n := &m.natives[i]
		refs := m.refs[begin:n.end]
		begin = n.end
		if n.source < 0 || broken&(1<<n.source) != 0 {
			m.entries = append(m.entries, Entry{Frame: n.frame})
			continue
		}
		compiled := n.replacesFrame && len(refs) > 0 && n.frame.Module != nil && n.frame.Module.Generated
		for _, r := range refs {
			e := Entry{Frame: n.frame, Source: m.sources[n.source], Ref: r, Compiled: compiled}
			m.entries = append(m.entries, e)
		}
		if !compiled {
			m.entries = append(m.entries, Entry{Frame: n.frame, Machinery: n.replacesFrame})
		}
	}
	return m.entries
}
