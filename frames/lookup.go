// SPDX-License-Identifier: Apache-2.0

package frames

type resolvedRule struct {
	rule Rule    // FlagNoRule if no source has one
	row  *Row    // nil if the Rule suffices
	mod  *Module // nil if unknown
	// The current instruction is at pc even if pc is a return address: in a signal trampoline, or a prepared stack.
	pcIsCurrent bool
}

func (r *resolvedRule) isGenerated() bool { return r.mod != nil && r.mod.Generated }

// Kinds of rules, bits.
const (
	kindAfterCall kind = 1 << iota // [Query.AfterCall]
	kindSPOnly                     // [Query.SPOnly]
	kindNoCFI                      // not by MethodCFI: the rule by it led to no code
)

func afterCallKind(afterCall bool) kind {
	if afterCall {
		return kindAfterCall
	}
	return 0
}

// lookup returns the rule at pc.
func (s *Space) lookup(pc Addr, k kind) *resolvedRule {
	if a, ok := s.cache.get(k, pc); ok {
		return a.rule
	}
	r := s.find(pc, k)
	s.cache.put(k, pc, answer{rule: &r})
	return &r
}

func (s *Space) find(pc Addr, k kind) resolvedRule {
	m := s.ModuleAt(s.Arch.lookupPC(pc, k&kindAfterCall != 0))
	r, ok := s.askSources(m, pc, k)
	r.pcIsCurrent = r.rule.Flags&FlagExactPC != 0
	hasCFI := ok && r.rule.Method == MethodCFI
	within := r.rule.Flags&FlagWithin != 0
	if r.rule.Flags &^= FlagWithin; k&kindAfterCall != 0 && !within {
		if prepared, ok := s.preparedStackRule(pc, k, m, hasCFI); ok {
			return prepared
		}
	}
	return r
}

// preparedStackRule returns the rule of a return address that follows no call and has no call frame information. It is
// the outermost frame of a stack prepared by hand (makecontext), if it is a function's first instruction or code of
// [StackEnds]. A signal trampoline can be there, too, even if hasCFI: the function before has call frame information.
// before is the module of the call.
func (s *Space) preparedStackRule(ret Addr, k kind, before *Module, hasCFI bool) (resolvedRule, bool) {
	if before != nil && before.Calls != nil {
		if _, ok := before.Calls.CallBefore(ret - before.Bias); ok {
			return resolvedRule{}, false
		}
	}
	m := s.ModuleAt(ret)
	if m == nil || m.Generated || m.Calls == nil {
		return resolvedRule{}, false
	}
	pc := ret - m.Bias
	start, known := m.Calls.FuncStart(pc)
	ends, ok := m.Calls.(StackEnds)
	startsFunction, endsStack := known && start == pc, ok && ends.EndsStack(pc)
	if !startsFunction && !endsStack {
		return resolvedRule{}, false
	}
	r, ok := s.askSources(m, ret, k&kindSPOnly)
	if !ok || r.rule.Flags&FlagExactPC == 0 {
		if hasCFI {
			return resolvedRule{}, false
		}
		r = resolvedRule{rule: Rule{Flags: FlagRoot, Method: MethodHeuristic}, mod: m}
	}
	r.pcIsCurrent = true
	return r, true
}

// askSources returns the first rule of a module's sources; false if none has one, or m is nil.
func (s *Space) askSources(m *Module, pc Addr, k kind) (resolvedRule, bool) {
	none := resolvedRule{rule: Rule{Flags: FlagNoRule}, mod: m}
	if m == nil {
		return none, false
	}
	q := Query{PC: pc - m.Bias, AfterCall: k&kindAfterCall != 0, SPOnly: k&kindSPOnly != 0}
	for _, src := range m.Sources {
		r, row, ok := src.Rule(q)
		if ok && row != nil && row.RA.Kind == RuleUndefined {
			r, row = Rule{Flags: FlagRoot, Method: r.Method}, nil // DWARF 5 §6.4.4
		}
		if !ok || k&kindNoCFI != 0 && r.Method == MethodCFI ||
			q.SPOnly && r.Flags&FlagNoRule == 0 && !s.isSPRelative(r, row) {
			continue
		}
		return resolvedRule{rule: r, row: row, mod: m}, true
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
