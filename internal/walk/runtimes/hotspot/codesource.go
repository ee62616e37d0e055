// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"errors"
	"slices"

	"prywalk/frames"
)

// # Start-up
//
// The code cache is mapped before the tables lead to it, and the list of mappings may be older than the first code.
// So each query in generated code decides whether the code is the JVM's. Until the tables are proven such code has no
// rules.
//
// codeSource has one kind of rules of a module of generated code, which the JVM owns unless the tables are proven and
// the module's start is not in its code cache.
type codeSource struct {
	runtime *Runtime
	module  *frames.Module
	kind    ruleKind
	others  []frames.RuleSource // for code that is not the JVM's
}

// ruleKind is the origin of rules, in the order in which a module's sources are asked.
type ruleKind uint8

const (
	byHeaders ruleKind = iota
	byInstructions
	ofRoutines // assembly
)

func (r *Runtime) addSources(m *frames.Module) {
	first := &codeSource{r, m, byHeaders, m.Sources}
	m.Sources = []frames.RuleSource{
		first, &codeSource{r, m, byInstructions, nil}, &codeSource{r, m, ofRoutines, nil},
	}
	r.codeSources = append(r.codeSources, first)
}

func (s *codeSource) inUse() bool { return slices.Contains(s.module.Sources, frames.RuleSource(s)) }

func (r *Runtime) hasSource(m *frames.Module) bool {
	return slices.ContainsFunc(r.codeSources, func(s *codeSource) bool { return s.module == m })
}

func (r *Runtime) mayBeStarting() bool {
	var e *UnknownError
	return r.vm == nil && r.tries < maxTries && errors.As(r.openError, &e) && e.NotYet
}

// tryOpen reads the tables unless they are read, and then decides on all modules.
func (r *Runtime) tryOpen() {
	if r.vm == nil && r.tries < maxTries {
		r.tries++
		r.vm, r.openError = New(r.host, r.lib)
	}
	for _, s := range r.codeSources {
		s.decideOwner()
	}
}

// Changed implements [managed.Runtime]: also when refused walks can continue.
func (r *Runtime) Changed() bool {
	wasStarting := r.mayBeStarting()
	if r.vm == nil && r.host != nil {
		r.tryOpen()
	}
	starting := r.mayBeStarting()
	if r.refused && !starting && (wasStarting || r.vm == nil || !r.vm.starting()) {
		r.refused = false
		return true
	}
	return r.vm != nil && r.vm.Changed()
}

func (s *codeSource) decideOwner() {
	r, m := s.runtime, s.module
	switch {
	case !s.inUse(), m.Owner != nil && m.Owner != r:
	case r.vm == nil, r.vm.Incomplete() != nil:
		m.Owner, m.NoFP = r, true
	case r.vm.reserved(m.Start):
		s.own()
	default:
		m.Owner, m.NoFP = nil, false
	}
}

func (s *codeSource) own() {
	s.module.Owner, s.module.NoFP = s.runtime, true
	s.runtime.vm.frameSource().readFirstMoment(s.module.Start)
}

// Rule implements [frames.RuleSource].
func (s *codeSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	r := s.runtime
	switch {
	case r.mayBeStarting():
		r.refused = true
	case r.vm == nil, r.vm.Incomplete() != nil, !r.vm.reserved(q.PC):
		for _, source := range s.others {
			if rule, row, ok := source.Rule(q); ok {
				return rule, row, true
			}
		}
	case s.kind == byHeaders:
		s.own()
		return r.Rule(q)
	case s.kind == ofRoutines:
		return r.vm.Routine(q)
	case !r.refused: // by byHeaders, even if the tables can be proven since
		return r.analysis.Rule(q)
	}
	return frames.Rule{}, nil, false
}

// Rule returns the rule of the JVM's code by its headers. Precondition: the tables were read.
func (r *Runtime) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if r.vm.starting() {
		r.refused = true
		return frames.Rule{}, nil, false
	}
	if rule, row, ok := r.vm.Rule(q); ok {
		return rule, row, true
	}
	if pc, ok := r.vm.afterRestore(q); ok {
		rule, row, ok := r.analysis.Rule(frames.Query{PC: pc})
		return rule, row, ok && row == nil && rule.CFAReg == frames.X86RBP
	}
	return frames.Rule{}, nil, false
}
