// SPDX-License-Identifier: Apache-2.0

package frames

// maxRows bounds the table of rules that do not fit into 16 bytes; when it is
// full the cache starts anew, so that no input makes it grow without end.
const maxRows = 1 << 14

// fill asks the module's sources in turn.
func (s *Space) fill(e *entry, k uint64, pc Addr, caller, spOnly bool) {
	*e = entry{key: k, mod: -1, rule: Rule{Flags: FlagNone}}
	at := pc
	if caller {
		at -= s.Arch.CallLen()
	}
	if e.mod = s.find(at); e.mod < 0 {
		if caller {
			s.atEntry(e, pc, spOnly) // the first instruction of a mapping
		}
		return
	}
	if found := s.ask(e, pc, caller, spOnly); caller && (!found || e.rule.Method != MethodCFI) {
		s.atEntry(e, pc, spOnly)
	}
}

// atEntry is for a return address that no table knows and that follows no call. If it is a function's first
// instruction, then the stack was prepared by hand, as by makecontext, and its outermost frame is what its first
// function returns to. Whatever is above has not called it (glibc's call frame information for __start_context says
// otherwise). A signal trampoline can be such a place, too. The same is so of code in the middle of a function to which
// only such a stack returns (see [StackEnds]).
func (s *Space) atEntry(e *entry, pc Addr, spOnly bool) {
	i := s.find(pc)
	if i < 0 {
		return
	}
	m := s.modules[i]
	if m.Generated || m.Calls == nil {
		return
	}
	if start, ok := m.Calls.FuncStart(pc - m.Bias); (!ok || start != pc-m.Bias) && !m.endsStack(pc-m.Bias) {
		return
	}
	if _, called := s.callBefore(pc); called {
		return
	}
	e.mod, e.exact = i, true
	if !s.ask(e, pc, false, spOnly) || e.rule.Flags&FlagSignal == 0 {
		e.rule = Rule{Flags: FlagRoot, Method: MethodHeuristic}
	}
}

// endsStack asks those of the module's call sites that know.
func (m *Module) endsStack(pc Addr) bool {
	e, ok := m.Calls.(StackEnds)
	return ok && e.EndsStack(pc)
}

// ask puts the first rule that a source of e.mod has into e.
func (s *Space) ask(e *entry, pc Addr, caller, spOnly bool) bool {
	mod := s.modules[e.mod]
	q := Query{PC: pc - mod.Bias, Caller: caller, SPOnly: spOnly}
	for _, src := range mod.Sources {
		r, row, ok := src.Rule(q)
		if !ok || spOnly && !s.spRelative(r, row) {
			continue
		}
		if row != nil && !row.compactLoss(s.Arch, &r) {
			if len(s.rows) >= maxRows {
				keep := entry{key: e.key, mod: e.mod, exact: e.exact}
				s.Forget()
				*e = keep
			}
			s.rows = append(s.rows, storedRow{row, row.changed()})
			r.setRow(uint32(len(s.rows) - 1))
		}
		e.rule = r
		return true
	}
	return false
}

// spRelative reports whether a rule can be applied with only sp and pc known.
func (s *Space) spRelative(r Rule, row *Row) bool {
	if r.Flags&FlagRoot != 0 {
		return true
	}
	sp := s.Arch.SP()
	if row != nil {
		return row.CFAExpr != nil || row.CFAReg == sp
	}
	return r.CFAReg == sp
}
