// SPDX-License-Identifier: Apache-2.0

package frames

// resolvedRule is the rule at a program counter. [Space] caches it by address.
type resolvedRule struct {
	Rule         // FlagNoRule if no source has one
	row  *Row    // what does not fit into the Rule, else nil
	mod  *Module // has the code, nil if unknown
	// pcIsCurrent: the current instruction is that at pc, even if pc is a return address: no call is before a signal
	// trampoline, or the start of a stack prepared by hand.
	pcIsCurrent bool
}

// startsStack reports whether the code is the first instruction of a prepared stack.
func (r *resolvedRule) startsStack() bool { return r.pcIsCurrent && r.Flags&FlagRoot != 0 }

func (r *resolvedRule) isGenerated() bool { return r.mod != nil && r.mod.Generated }

// lookup returns the rule for q, which has a run-time address, from the cache or the sources, not to be modified.
func (s *Space) lookup(q Query) *resolvedRule {
	k := keyOf(q)
	if r, ok := s.rules.get(k); ok {
		return r
	}
	r := s.find(q)
	s.rules.add(k, &r)
	return &r
}

// find returns the rule of the sources, or that of a hand-prepared stack.
func (s *Space) find(q Query) resolvedRule {
	m := s.ModuleAt(q.LookupPC(s.Arch))
	r, ok := s.askSources(m, q)
	r.pcIsCurrent = r.Flags&FlagExactPC != 0
	if q.AfterCall && (!ok || r.Method != MethodCFI) {
		if prepared, ok := s.preparedStackRule(q); ok {
			return prepared
		}
	}
	return r
}

// preparedStackRule is for a return address that follows no call and has no call frame information. At a function's
// first instruction, or in code of [StackEnds], the stack was prepared by hand, as by makecontext, and this is its
// outermost frame (glibc's __start_context has call frame information with a caller nevertheless). A signal trampoline
// can be there, too. The address may be the first of a mapping.
func (s *Space) preparedStackRule(q Query) (resolvedRule, bool) {
	m := s.ModuleAt(q.PC)
	if m == nil || m.Generated || m.Calls == nil {
		return resolvedRule{}, false
	}
	if pc := q.PC - m.Bias; !m.startsFunc(pc) && !m.endsStack(pc) || s.followsCall(q.PC) {
		return resolvedRule{}, false
	}
	r, ok := s.askSources(m, Query{PC: q.PC, SPOnly: q.SPOnly})
	if !ok || r.Flags&FlagExactPC == 0 {
		r = resolvedRule{Rule: Rule{Flags: FlagRoot, Method: MethodHeuristic}, mod: m}
	}
	r.pcIsCurrent = true
	return r, true
}

func (m *Module) startsFunc(pc Addr) bool {
	start, ok := m.Calls.FuncStart(pc)
	return ok && start == pc
}

func (m *Module) endsStack(pc Addr) bool {
	e, ok := m.Calls.(StackEnds)
	return ok && e.EndsStack(pc)
}

// askSources returns the first rule of a module's sources; false if none has one, or m is nil.
func (s *Space) askSources(m *Module, q Query) (resolvedRule, bool) {
	none := resolvedRule{Rule: Rule{Flags: FlagNoRule}, mod: m}
	if m == nil {
		return none, false
	}
	q.PC -= m.Bias
	for _, src := range m.Sources {
		r, row, ok := src.Rule(q)
		if ok && row != nil && row.RA.Kind == RuleUndefined {
			r, row = Rule{Flags: FlagRoot, Method: r.Method}, nil // DWARF 5 §6.4.4
		}
		if !ok || q.SPOnly && r.Flags&FlagNoRule == 0 && !s.isSPRelative(r, row) {
			continue
		}
		if row != nil && row.packWithLoss(s.Arch, &r) {
			row = nil
		}
		return resolvedRule{Rule: r, row: row, mod: m}, true
	}
	return none, false
}

// isSPRelative reports whether stack pointer and program counter suffice for a rule.
func (s *Space) isSPRelative(r Rule, row *Row) bool {
	if r.Flags&FlagRoot != 0 {
		return true
	}
	sp := s.Arch.SP()
	if row != nil {
		return row.CFAExpr != nil || row.CFAReg == sp
	}
	return r.CFAReg == sp
}
