// SPDX-License-Identifier: Apache-2.0

package frames

import "slices"

// Space is a process's modules, and the rules found so far, for one goroutine at a time.
type Space struct {
	cache   ruleCache
	Arch    Arch
	modules []*Module
	bounds  []bounds // apart, for few cache lines
	rows    []storedRow
	calls   callCache
}

// NewSpace returns a space without modules.
func NewSpace(arch Arch) *Space { return &Space{Arch: arch, cache: newRuleCache(minBits)} }

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

// Forget drops all cached rules and their Rows. Call it, between walks, after a change of what a source answers.
func (s *Space) Forget() {
	s.rows = s.rows[:0]
	s.cache.clear()
	s.calls.clear()
}

// maxRows bounds the Rows between two steps of a walk.
const maxRows = 1 << 14

// trimRows empties a full table of Rows. A step has a Rule that names a Row by its index: so it is called between
// steps only.
func (s *Space) trimRows() {
	if len(s.rows) >= maxRows {
		s.Forget()
	}
}

// ModuleAt returns the module that has pc, or nil.
func (s *Space) ModuleAt(pc Addr) *Module {
	if i := s.moduleIndex(pc); i >= 0 {
		return s.modules[i]
	}
	return nil
}

func (s *Space) moduleIndex(pc Addr) int32 {
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
		return -1
	}
	return int32(lo - 1)
}

func (s *Space) module(i int32) *Module {
	if uint(i) < uint(len(s.modules)) {
		return s.modules[i]
	}
	return nil
}
