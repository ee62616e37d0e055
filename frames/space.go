// SPDX-License-Identifier: Apache-2.0

package frames

import "slices"

// Space has a process's modules, and caches their rules, for one goroutine at a time.
type Space struct {
	Arch    Arch
	modules []*Module
	bounds  []bounds // apart, for few cache lines
	rules   cache[*resolvedRule]
	sites   callSites
}

// NewSpace returns a space without modules.
func NewSpace(arch Arch) *Space { return &Space{Arch: arch} }

// SetModules replaces the modules, and drops all rules. Where two overlap, the one that starts later is used, and
// beyond its end none.
func (s *Space) SetModules(mods []*Module) {
	s.modules = slices.Clone(mods)
	slices.SortStableFunc(s.modules, func(a, b *Module) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
	s.bounds = s.bounds[:0]
	for _, m := range s.modules {
		s.bounds = append(s.bounds, bounds{m.Start, m.End})
	}
	s.Forget()
}

type bounds struct{ start, end Addr }

// Modules returns the modules by address, not to be modified.
func (s *Space) Modules() []*Module { return s.modules }

// Forget drops all cached rules. Call it between walks, after a source's answers have changed.
func (s *Space) Forget() {
	s.rules.clear()
	s.sites.clear()
}

// ModuleAt returns the module that has pc, or nil.
func (s *Space) ModuleAt(pc Addr) *Module {
	lo, hi := 0, len(s.bounds)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.bounds[mid].start <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || pc >= s.bounds[lo-1].end {
		return nil
	}
	return s.modules[lo-1]
}
