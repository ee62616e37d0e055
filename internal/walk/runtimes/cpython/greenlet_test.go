// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type files struct {
	managed.Host
	modules []*frames.Module
	symbols map[string][]managed.Symbol
}

func (f *files) Modules() []*frames.Module { return f.modules }

func (f *files) OwnSymbols(m *frames.Module, names ...string) (found []managed.Symbol) {
	for _, s := range f.symbols[m.Name] {
		for _, n := range names {
			if s.Name == n {
				s.Addr += m.Bias
				found = append(found, s)
			}
		}
	}
	return found
}

type others struct{}

func (others) Rule(frames.Query) (frames.Rule, *frames.Row, bool) { return frames.Rule{}, nil, false }

func TestStacksOfGreenletsEndAtTheirFirstFunction(t *testing.T) {
	for _, name := range greenletFirst {
		const file = "/lib/greenlet/_greenlet.cpython-311-x86_64-linux-gnu.so"
		first := []managed.Symbol{{Name: name, Addr: 0x1000, Size: 0x100, Function: true},
			{Name: "other", Addr: 0x1100, Size: 8, Function: true}}
		h := &files{
			modules: []*frames.Module{
				{Name: file, Bias: 0x7000, Sources: []frames.RuleSource{others{}}},
				{Name: "/lib/app.so", Sources: []frames.RuleSource{others{}}},
			},
			symbols: map[string][]managed.Symbol{file: first, "/lib/app.so": first},
		}
		endGreenlets(h)
		endGreenlets(h)
		if a, b := len(h.modules[0].Sources), len(h.modules[1].Sources); a != 2 || b != 1 {
			t.Fatalf("%d and %d sources", a, b)
		}
		for q, want := range map[frames.Query]bool{
			{PC: 0x1000}: true, {PC: 0x10ff}: true, {PC: 0x1100}: false, {PC: 0xfff}: false,
			{PC: 0x1100, AfterCall: true}: true, {PC: 0x1000, AfterCall: true}: false,
		} {
			if r, _, ok := h.modules[0].Sources[0].Rule(q); ok != want || ok && r.Flags&frames.FlagRoot == 0 {
				t.Errorf("%+v: %v, %+v", q, ok, r)
			}
		}
	}
}
