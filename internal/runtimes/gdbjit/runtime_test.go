// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
)

type listHost struct {
	managed.Host
	*fake
	mods []*frames.Module
}

func (h listHost) Arch() frames.Arch                { return frames.X86_64 }
func (h listHost) Modules() []*frames.Module        { return h.mods }
func (h listHost) Read(addr uint64, b []byte) int   { return h.read(addr, b) }
func (h listHost) CodeAnalysis() *heuristics.Source { return nil }
func (h listHost) OwnSymbols(*frames.Module, ...string) []managed.Symbol {
	return []managed.Symbol{{Name: Symbols[0], Addr: listAt, Size: descriptorSize}}
}

type otherRules struct{}

func (otherRules) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{}, nil, false
}

func TestListsKeepTheRulesOfOtherRuntimes(t *testing.T) {
	f := newFake()
	f.register(node(0), imageAt, absolute("evaluated", codeAt, 0x1000, 48))
	m := &frames.Module{Name: "[anon]", Start: codeAt, End: codeAt + 0x1000, Generated: true,
		Sources: []frames.RuleSource{otherRules{}}}
	h := listHost{fake: f, mods: []*frames.Module{m}}
	r, err := Detect(h)
	if r == nil || err != nil {
		t.Fatalf("Detect gives %v, %v", r, err)
	}
	for range 3 {
		if !r.Attach(h) {
			t.Fatal("Attach reports that the lists are gone")
		}
		if !slices.Contains(m.Sources, frames.RuleSource(otherRules{})) {
			t.Errorf("the other runtime's rules are removed: %v", m.Sources)
		}
		if rule, _, ok := m.Sources[0].Rule(frames.Query{PC: codeAt + 0x800}); !ok || rule.CFAOff != 48 {
			t.Errorf("the first source has the rule %+v, %v; want that of the list", rule, ok)
		}
		if len(m.Sources) != 2 {
			t.Errorf("%d sources, want 2", len(m.Sources))
		}
	}
}
