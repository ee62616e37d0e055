// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"slices"

	"prywalk/frames"
)

// Span is an address range; End is excluded.
type Span struct{ Start, End uint64 }

// Has reports whether an address is in the span.
func (s Span) Has(addr uint64) bool { return addr >= s.Start && addr < s.End }

// Unowned returns the modules of generated code without an owner.
func Unowned(h Host) (made []*frames.Module) {
	for _, m := range h.Modules() {
		if m.Generated && m.Owner == nil {
			made = append(made, m)
		}
	}
	return made
}

// AddSource puts s before m's other sources, once.
func AddSource(m *frames.Module, s frames.RuleSource) {
	if !slices.Contains(m.Sources, s) {
		m.Sources = append([]frames.RuleSource{s}, m.Sources...)
	}
}

// ModuleAgain returns a runtime's earlier module as it is mapped now, or nil.
func ModuleAgain(h Host, earlier *frames.Module) *frames.Module {
	for _, m := range h.Modules() {
		if SameModule(m, earlier) {
			return m
		}
	}
	return nil
}

// SameModule reports whether m, which may be nil, is the earlier module.
func SameModule(m, earlier *frames.Module) bool {
	return m != nil && (m == earlier || m.Bias == earlier.Bias && m.Name == earlier.Name)
}
