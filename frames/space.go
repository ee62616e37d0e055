// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"cmp"
	"slices"
	"sort"
)

// Space has a process's modules, and caches their rules, for one goroutine at a time.
type Space struct {
	Arch    Arch
	modules []*Module
	bounds  []bounds // apart, for few cache lines
	cache   cache
	left    []LeftStack
}

// NewSpace returns a space without modules.
func NewSpace(arch Arch) *Space { return &Space{Arch: arch} }

// SetModules replaces the modules, and drops all rules. Where two overlap, the one that starts later is used, and
// beyond its end none.
func (s *Space) SetModules(mods []*Module) {
	s.modules = slices.Clone(mods)
	slices.SortStableFunc(s.modules, func(a, b *Module) int { return cmp.Compare(a.Start, b.Start) })
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
func (s *Space) Forget() { s.cache.clear() }

// ModuleAt returns the module that has pc, or nil.
func (s *Space) ModuleAt(pc Addr) *Module {
	i := sort.Search(len(s.bounds), func(i int) bool { return s.bounds[i].start > pc }) - 1
	if i < 0 || pc >= s.bounds[i].end {
		return nil
	}
	return s.modules[i]
}
