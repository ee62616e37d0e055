// SPDX-License-Identifier: Apache-2.0

package code

import (
	"slices"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// # Code that is newer than the list of mappings
//
// A compiler maps memory for what it makes, runs it, and may give it back within milliseconds. Reading the list of
// mappings takes half a millisecond, and so is not done for each such piece. The kernel is asked for that one mapping.

// Meet takes on the code at an address if it lies in a mapping that is newer than the last Refresh: one without a file
// and a name. It reports whether a walk may now give another stack. All else stays as the last Refresh has found it,
// but for code that was in the same place.
func (p *Process) Meet(pc uint64) bool {
	if p.space == nil || pc == 0 || p.space.Find(pc) != nil {
		return false
	}
	s, code, ok := p.Memory().MadeAt(pc)
	if !ok || !code {
		return false
	}
	next, ok := withCode(p.code, &s, p.over)
	if !ok {
		return false
	}
	p.spans = withSpan(p.spans, s)
	p.Memory().SetSpans(slices.Clone(p.spans))
	p.jit.drop(s.Start, s.End)
	p.runtimes.code.Forget()
	p.code = next
	p.makeModules()
	p.useModules()
	return true
}

// withCode gives the mappings with code and a new one among them, without those that lay there. It is false if one of
// these has a file or a name: such a change is none that a compiler makes.
func withCode(list []mapped, s *procmem.Span, over *atomic.Bool) ([]mapped, bool) {
	from, _ := slices.BinarySearchFunc(list, s.Start, func(m mapped, start uint64) int {
		if m.at.End > start {
			return 1
		}
		return -1
	})
	to := from
	for ; to < len(list) && list[to].at.Start < s.End; to++ {
		if at := list[to].at; at.Inode != 0 || at.Path != "" {
			return nil, false
		}
	}
	at := &Mapping{Start: s.Start, End: s.End, Perm: PermRead | PermExec, over: over}
	if s.Writable {
		at.Perm |= PermWrite
	}
	return slices.Concat(list[:from], []mapped{{at: at}}, list[to:]), true
}

// withSpan gives sorted spans with a new one among them, which takes the place of what lay there.
func withSpan(spans []procmem.Span, s procmem.Span) []procmem.Span {
	out := make([]procmem.Span, 0, len(spans)+2)
	done := false
	for _, old := range spans {
		if old.Start < s.Start {
			before := old
			before.End = min(old.End, s.Start)
			out = append(out, before)
		}
		if !done && old.End > s.Start {
			out, done = append(out, s), true
		}
		if old.End > s.End {
			old.Start = max(old.Start, s.End)
			out = append(out, old)
		}
	}
	if !done {
		out = append(out, s)
	}
	return out
}

// makeModules makes modules of mappings that have none yet, and gives those of code without a file.
func (p *Process) makeModules() (bare []*frames.Module) {
	p.nameProgram()
	for i := range p.code {
		c := &p.code[i]
		if c.mod != nil {
			continue
		}
		c.mod = NewModule(p, c.at)
		if c.at.JIT && !c.at.Withheld {
			p.runtimes.Describe(c.mod)
		}
		if c.at.JIT && c.at.Inode == 0 {
			bare = append(bare, c.mod)
		}
	}
	return bare
}

// useModules gives all modules to the run-time systems and to the Space.
func (p *Process) useModules() {
	mods := make([]*frames.Module, len(p.code))
	for i := range p.code {
		mods[i] = p.code[i].mod
	}
	p.runtimes.Adopt(p, mods)
	p.space.SetModules(mods)
}

// Dated reports whether a run-time system knows which code was there when, as of the last Refresh.
func (p *Process) Dated() bool { return p.runtimes != nil && len(p.runtimes.found.dated) > 0 }

// At prepares for walks of what was copied at a moment (CLOCK_MONOTONIC, ns), if there is such a run-time system. It
// reports whether a walk may now give another stack. ask: the process is asked what has changed, which costs some
// microseconds.
func (p *Process) At(moment int64, ask bool) (changed bool) {
	if p.runtimes == nil {
		return false
	}
	for _, d := range p.runtimes.found.dated {
		changed = d.At(moment, ask) || changed
	}
	if changed {
		clear(p.jit.pages)
		p.runtimes.code.Forget()
		p.space.Forget()
	}
	return changed
}
