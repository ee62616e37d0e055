// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"errors"
	"slices"

	"prywalk/frames"
)

// # A machine that is starting
//
// The memory for its code is mapped first. Then its tables lead there, then the interpreter is made, then Java runs.
// The list of mappings is read at any time in between, and seldom. So a walk that meets code which nobody has
// adopted asks the machine at that moment whether the code is its own. Of its own it gives no rule before the tables
// are proven: the walk ends there, as one without a rule, and frame pointers are not believed.

// gate stands for the sources of generated code that the machine has not adopted.
type gate struct {
	r    *Runtime
	m    *frames.Module
	rest []frames.RuleSource // those that it has else
}

// closed reports whether the module has no others' rules.
func (g *gate) closed() bool { return len(g.m.Sources) == 1 && g.m.Sources[0] == frames.RuleSource(g) }

// gated reports whether a module has a gate.
func (r *Runtime) gated(m *frames.Module) bool {
	return slices.ContainsFunc(r.gates, func(g *gate) bool { return g.m == m && g.closed() })
}

// unread reports whether the machine's file is still being loaded.
func (r *Runtime) unread() bool {
	var e *UnknownError
	return r.vm == nil && r.tries < maxTries && errors.As(r.why, &e) && e.NotYet
}

// unproven reports whether the machine's tables are not yet known to mean what they are taken for.
func (r *Runtime) unproven() bool { return r.unread() || r.vm != nil && r.vm.starting() }

// began reports whether walks that ended since the machine was starting can now go on. One whose tables could not be
// read is asked again.
func (r *Runtime) began() bool {
	was := r.unread()
	if r.vm == nil && r.host != nil {
		r.ask()
		for _, g := range r.gates {
			g.settle()
		}
	}
	loaded := was && !r.unread()
	if !r.refused || r.unproven() && !loaded {
		return false
	}
	r.refused = false
	return true
}

// settle decides by what is known of the machine as of now.
func (g *gate) settle() {
	r := g.r
	switch {
	case !g.closed():
	case r.vm == nil, r.vm.Unknown() != nil:
		g.m.NoFP = true // it cannot be told which code the machine has made
	case r.vm.Reserved(g.m.Start):
		g.take()
	default:
		g.m.NoFP = false
	}
}

// take gives the module the machine's sources.
func (g *gate) take() {
	g.m.NoFP = true
	g.m.Sources = g.r.sources()
	g.r.vm.Names().begun(g.m.Start)
}

// sources are those of the machine's code.
func (r *Runtime) sources() []frames.RuleSource {
	return []frames.RuleSource{r, flowSource{r}, routineSource{r}}
}

// Rule implements [frames.RuleSource].
func (g *gate) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	r, sources := g.r, g.rest
	switch {
	case r.unread():
		r.refused = true
		return frames.Rule{}, nil, false
	case r.vm != nil && r.vm.Unknown() == nil && r.vm.Reserved(q.PC):
		g.take()
		sources = g.m.Sources
	}
	for _, s := range sources {
		if rule, row, ok := s.Rule(q); ok {
			return rule, row, true
		}
	}
	return frames.Rule{}, nil, false
}

// flowSource follows the instructions of the machine's code, once it is known which frames its tables tell.
type flowSource struct{ *Runtime }

// Rule implements [frames.RuleSource].
func (r flowSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if r.unproven() {
		r.refused = true
		return frames.Rule{}, nil, false
	}
	return r.code.Rule(q)
}
