// SPDX-License-Identifier: Apache-2.0

package frames

// lookup returns the rule for a pc, from the cache or the sources, valid until the next call. With spOnly, only rules
// relative to the stack pointer count.
func (s *Space) lookup(pc Addr, caller, spOnly bool) *cacheEntry {
	k := cacheKey(pc, caller, spOnly)
	if e := s.cache.get(k); e != nil {
		return e
	}
	e := s.cache.add(k)
	s.fillEntry(e, pc, caller, spOnly)
	e.exact = e.exact || e.rule.Flags&FlagSignal != 0
	if caller {
		e.confidence = s.confidenceOf(e, pc)
	}
	e.requiredConfidence = s.requiredConfidence(&e.rule, e.mod)
	e.quick = quickRuleOf(s.Arch, &e.rule)
	return e
}

func (s *Space) fillEntry(e *cacheEntry, pc Addr, caller, spOnly bool) {
	e.mod, e.rule = -1, Rule{Flags: FlagNone}
	at := pc
	if caller {
		at -= s.Arch.CallLen()
	}
	if e.mod = s.moduleIndex(at); e.mod < 0 {
		if caller {
			s.handleUncalled(e, pc, spOnly) // the first instruction of a mapping
		}
		return
	}
	if found := s.fillFromSources(e, pc, caller, spOnly); caller && (!found || e.rule.Method != MethodCFI) {
		s.handleUncalled(e, pc, spOnly)
	}
}

// handleUncalled handles a return address that follows no call and has no call frame information. At a function's first
// instruction, or in code of [StackEnds], the stack was prepared by hand, as by makecontext, and this is its outermost
// frame (glibc's __start_context has call frame information with a caller nevertheless). A signal trampoline can be
// there, too.
func (s *Space) handleUncalled(e *cacheEntry, pc Addr, spOnly bool) {
	i := s.moduleIndex(pc)
	if i < 0 {
		return
	}
	m := s.modules[i]
	if m.Generated || m.Calls == nil || !m.startsFunc(pc-m.Bias) && !m.endsStack(pc-m.Bias) || s.followsCall(pc) {
		return
	}
	e.mod, e.exact = i, true
	if !s.fillFromSources(e, pc, false, spOnly) || e.rule.Flags&FlagSignal == 0 {
		e.rule = Rule{Flags: FlagRoot, Method: MethodHeuristic}
	}
}

func (m *Module) startsFunc(pc Addr) bool {
	start, ok := m.Calls.FuncStart(pc)
	return ok && start == pc
}

func (m *Module) endsStack(pc Addr) bool {
	e, ok := m.Calls.(StackEnds)
	return ok && e.EndsStack(pc)
}

func (s *Space) fillFromSources(e *cacheEntry, pc Addr, caller, spOnly bool) bool {
	mod := s.modules[e.mod]
	q := Query{PC: pc - mod.Bias, Caller: caller, SPOnly: spOnly}
	for _, src := range mod.Sources {
		r, row, ok := src.Rule(q)
		if ok && row != nil && row.RA.Kind == RuleUndefined {
			r, row = Rule{Flags: FlagRoot, Method: r.Method}, nil // DWARF 5 §6.4.4
		}
		if !ok || spOnly && !s.isSPRelative(r, row) {
			continue
		}
		if row != nil && !row.packWithLoss(s.Arch, &r) {
			s.rows = append(s.rows, storedRow{row, row.changedRegs()})
			r.setRow(uint32(len(s.rows) - 1))
		}
		e.rule = r
		return true
	}
	return false
}

// isSPRelative reports whether sp and pc suffice for a rule.
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

// confidence is a reason to believe a return address, in rising order.
type confidence uint8

const (
	confidenceNone      confidence = iota // in no code, or the first instruction of a stack
	confidenceCode                        // in a module: enough for call frame information
	confidenceGenerated                   // in generated code, whose callers need not call
	confidenceCall                        // follows a call, or is returned to without one
)

// confidenceOf returns what a return address proves, before [Walker.isPlausible] looks at the instructions before it.
func (s *Space) confidenceOf(e *cacheEntry, pc Addr) confidence {
	switch m := s.module(e.mod); {
	case pc == 0 || m == nil:
		return confidenceNone
	case e.exact && e.rule.Flags&FlagRoot != 0:
		return confidenceNone
	case e.exact:
		return confidenceCall
	case m.Generated:
		return confidenceGenerated
	}
	return confidenceCode
}

// requiredConfidence returns the proof that a rule for code of a module requires of the return address that it gives.
func (s *Space) requiredConfidence(r *Rule, mod int32) confidence {
	if r.Method == MethodCFI {
		return confidenceCode
	}
	if m := s.module(mod); m != nil && m.Generated {
		return confidenceGenerated
	}
	return confidenceCall
}
