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
// So a walk in code of unknown origin checks whether the code is the JVM's. Until the tables are proven such code has
// no rules.
//
// startupSource is for a module of generated code of unknown origin, which the JVM owns at first.
type startupSource struct {
	runtime      *Runtime
	module       *frames.Module
	otherSources []frames.RuleSource
}

func (s *startupSource) inUse() bool { return slices.Contains(s.module.Sources, frames.RuleSource(s)) }

func (r *Runtime) hasStartupSource(m *frames.Module) bool {
	return slices.ContainsFunc(r.startupSources, func(s *startupSource) bool { return s.module == m })
}

func (r *Runtime) mayBeStarting() bool {
	var e *UnknownError
	return r.vm == nil && r.tries < maxTries && errors.As(r.openError, &e) && e.NotYet
}

// unproven reports whether the tables cannot be read or proven yet.
func (r *Runtime) unproven() bool { return r.mayBeStarting() || r.vm != nil && r.vm.starting() }

// retryRefused reports whether refused walks can continue.
func (r *Runtime) retryRefused() bool {
	wasStarting := r.mayBeStarting()
	if r.vm == nil && r.host != nil {
		r.tryOpen()
		for _, s := range r.startupSources {
			s.decideOwner()
		}
	}
	loaded := wasStarting && !r.mayBeStarting()
	if !r.refused || r.unproven() && !loaded {
		return false
	}
	r.refused = false
	return true
}

// decideOwner adopts the JVM's code, owns code of unknown origin, and releases other code.
func (s *startupSource) decideOwner() {
	r, m := s.runtime, s.module
	switch {
	case !s.inUse(), m.Owner != nil && m.Owner != r:
	case r.vm == nil, r.vm.Incomplete() != nil:
		m.Owner, m.NoFP = r, true
	case r.vm.reserved(m.Start):
		s.adopt()
	default:
		m.Owner, m.NoFP = nil, false
	}
}

func (s *startupSource) adopt() {
	s.module.Owner, s.module.NoFP = s.runtime, true
	s.module.Sources = s.runtime.sources()
	s.runtime.vm.frameSource().readFirstMoment(s.module.Start)
}

func (r *Runtime) sources() []frames.RuleSource {
	return []frames.RuleSource{r, flowSource{r}, routineSource{r}}
}

// Rule implements [frames.RuleSource].
func (s *startupSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	r, sources := s.runtime, s.otherSources
	switch {
	case r.mayBeStarting():
		r.refused = true
		return frames.Rule{}, nil, false
	case r.vm != nil && r.vm.Incomplete() == nil && r.vm.reserved(q.PC):
		s.adopt()
		sources = s.module.Sources
	}
	for _, source := range sources {
		if rule, row, ok := source.Rule(q); ok {
			return rule, row, true
		}
	}
	return frames.Rule{}, nil, false
}

type flowSource struct{ *Runtime }

// Rule implements [frames.RuleSource].
func (s flowSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if s.refused { // by [Runtime.Rule], even if the tables can be proven since
		return frames.Rule{}, nil, false
	}
	return s.byInstructions(q)
}
