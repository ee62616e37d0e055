// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"slices"
	"sort"
	"sync/atomic"

	"prywalk/internal/procmem"
)

// AddMappingAt adds the mapping with code at pc if it is newer than the last Refresh and has neither file nor name. It
// reports whether a walk can give another stack.
func (p *Process) AddMappingAt(pc uint64) bool {
	if p.space == nil || pc == 0 || p.space.ModuleAt(pc) != nil {
		return false
	}
	s, code, ok := p.Memory().QueryAnonymous(pc)
	if !ok || !code {
		return false
	}
	next, ok := withCode(p.code, &s, p.closed)
	if !ok {
		return false
	}
	p.spans = withSpan(p.spans, s)
	p.Memory().SetSpans(slices.Clone(p.spans))
	p.jit.drop(s.Start, s.End)
	p.code = next
	p.makeModules()
	p.useModules()
	return true
}

// withCode adds s in place of overlapping mappings; false if one of these has a file or a name.
func withCode(list []codeMapping, s *procmem.Span, closed *atomic.Bool) ([]codeMapping, bool) {
	from := sort.Search(len(list), func(i int) bool { return list[i].at.End > s.Start })
	to := from
	for ; to < len(list) && list[to].at.Start < s.End; to++ {
		if at := list[to].at; at.Inode != 0 || at.Path != "" {
			return nil, false
		}
	}
	at := &Mapping{MapsLine: MapsLine{Start: s.Start, End: s.End, Perm: PermRead | PermExec}, closed: closed}
	if s.Writable {
		at.Perm |= PermWrite
	}
	return slices.Concat(list[:from], []codeMapping{{at: at}}, list[to:]), true
}

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

// SetCodeTime prepares walks of stacks copied at a time (CLOCK_MONOTONIC, ns) for each [managed.CodeHistory], and
// reports whether a walk can give another stack. mayRead permits reads of the process.
func (p *Process) SetCodeTime(at int64, mayRead bool) (changed bool) {
	if p.runtimes == nil {
		return false
	}
	for _, c := range p.runtimes.detected.histories {
		changed = c.SetTime(at, mayRead) || changed
	}
	if changed {
		clear(p.jit.pages)
		p.space.Forget()
	}
	return changed
}
