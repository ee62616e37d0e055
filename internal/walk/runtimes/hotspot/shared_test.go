// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type otherRules struct{}

func (otherRules) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{}, nil, false
}

func TestCodeOutsideTheCodeCacheIsSharedWithOtherRuntimes(t *testing.T) {
	f := newFake()
	f.blob("RuntimeStub - new", 2, 0, nops)
	h, r := f.machine(t, frames.X86_64)
	m := &frames.Module{Start: 0x900000, End: 0x901000, Name: "[anon]", Generated: true,
		Sources: []frames.RuleSource{h.analysis}, Calls: h.analysis}
	h.mods = append(h.mods, m)
	for range 3 {
		if !r.Attach(h) {
			t.Fatal("Attach reports that the machine is gone")
		}
		managed.AddSource(m, otherRules{})
		if m.Owner != nil || m.NoFP {
			t.Errorf("owner %v, NoFP %v; want neither", m.Owner, m.NoFP)
		}
		if len(m.Sources) != 4 || len(r.codeSources) != 2 || m.Sources[1] != frames.RuleSource(r.codeSources[1]) {
			t.Fatalf("sources %v, want the other rules and the source of generated code", m.Sources)
		}
		if len(r.codeSources[1].others) != 1 {
			t.Errorf("the source has %v, want the analysis of instructions", r.codeSources[1].others)
		}
	}
	if h.mods[1].Owner != r {
		t.Errorf("the code cache has the owner %v, want the machine", h.mods[1].Owner)
	}
}
