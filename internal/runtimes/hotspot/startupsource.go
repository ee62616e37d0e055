// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"errors"
	"slices"

	"prywalk/frames"
)

// # Start-up
//
// The code cache is mapped before the tables lead to it, and the list of mappings may be older than the first code. So
// a walk in code of unknown origin checks whether it is the machine's. Until the tables are proven it has no rules, not
// even frame pointers.

// startupSource is the rule source of generated code of unknown origin, which the machine owns; later other runtimes
// may own it, or add sources.
type startupSource struct {
	runtime      *Runtime
	module       *frames.Module
	otherSources []frames.RuleSource
}

func (g *startupSource) inUse() bool { return slices.Contains(g.module.Sources, frames.RuleSource(g)) }

func (r *Runtime) hasStartupSource(m *frames.Module) bool {
	return slices.ContainsFunc(r.startupSources, func(g *startupSource) bool { return g.module == m })
}

func (r *Runtime) mayBeStarting() bool {
	var e *UnknownError
	return r.vm == nil && r.tries < maxTries && errors.As(r.openError, &e) && e.NotYet
}

func (r *Runtime) unproven() bool { return r.mayBeStarting() || r.vm != nil && r.vm.starting() }

// retryRefused retries unreadable tables, and reports whether refused walks can continue.
func (r *Runtime) retryRefused() bool {
	was := r.mayBeStarting()
	if r.vm == nil && r.host != nil {
		r.tryOpen()
		for _, g := range r.startupSources {
			g.decideOwner()
		}
	}
	loaded := was && !r.mayBeStarting()
	if !r.refused || r.unproven() && !loaded {
		return false
	}
	r.refused = false
	return true
}

// decideOwner adopts a module of the machine's code, owns one of unknown origin, without frame pointers, and releases
// others.
func (g *startupSource) decideOwner() {
	r, m := g.runtime, g.module
	switch {
	case !g.inUse(), m.Owner != nil && m.Owner != r:
	case r.vm == nil, r.vm.Incomplete() != nil:
		m.Owner, m.NoFP = r, true
	case r.vm.Reserved(m.Start):
		g.adopt()
	default:
		m.Owner, m.NoFP = nil, false
	}
}

func (g *startupSource) adopt() {
	g.module.Owner, g.module.NoFP = g.runtime, true
	g.module.Sources = g.runtime.sources()
	g.runtime.vm.Names().readFirstMoment(g.module.Start)
}

func (r *Runtime) sources() []frames.RuleSource {
	return []frames.RuleSource{r, flowSource{r}, routineSource{r}}
}

// Rule implements [frames.RuleSource].
func (g *startupSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	r, sources := g.runtime, g.otherSources
	switch {
	case r.mayBeStarting():
		r.refused = true
		return frames.Rule{}, nil, false
	case r.vm != nil && r.vm.Incomplete() == nil && r.vm.Reserved(q.PC):
		g.adopt()
		sources = g.module.Sources
	}
	for _, s := range sources {
		if rule, row, ok := s.Rule(q); ok {
			return rule, row, true
		}
	}
	return frames.Rule{}, nil, false
}

type flowSource struct{ *Runtime }

// Rule implements [frames.RuleSource].
func (r flowSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if r.unproven() {
		r.refused = true
		return frames.Rule{}, nil, false
	}
	return r.byInstructions(q)
}
