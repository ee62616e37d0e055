// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
)

func TestUnmappedModulesAreForgotten(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	_, p := accountOf(t, pid)
	u := newStackBuilder(profile.NewBuilder(profile.Meta{}), 0)
	gone := &frames.Module{Start: 1, End: 2, Name: "gone", Sources: make([]frames.RuleSource, 1)}
	ref := u.module(p, gone).Origin
	if ref.Module.Name != "gone" || ref.Module.Sources != nil || ref.Module.Calls != nil {
		t.Errorf("recorded module %+v, want its name without sources of rules", ref.Module)
	}
	p.remapped = true
	here := p.process.Code.Space().Modules()[0]
	u.module(p, here)
	if len(p.modules) != 1 || p.modules[here] == nil {
		t.Errorf("%d modules are kept, want the mapped one only", len(p.modules))
	}
}

func TestGrowingMappingOfJITCodeStaysOneModule(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	_, p := accountOf(t, pid)
	b := profile.NewBuilder(profile.Meta{})
	u, source := newStackBuilder(b, 0), &interpreter{}
	described := b.InternFrames([]profile.Frame{{Name: "f"}})
	for i := range uint64(100) {
		m := &frames.Module{Start: 0x10000, End: 0x20000 + i<<12, Name: "[anon]", Origin: &loadedcode.Mapping{JIT: true}}
		managed := u.managedModule(p, source, m)
		b.Intern([]profile.Loc{
			{Module: managed, Addr: 0x10000 + i, FramesID: described}, {Module: u.module(p, m), Addr: 0x10500},
		})
		p.remapped = true
		u.forgetModules(p, nil)
	}
	if n := b.Sizes(); n.Modules != 2 || n.Locations != 2 || n.Stacks != 1 {
		t.Errorf("%+v after a hundred steps, want 2 modules, 2 locations, 1 stack", n)
	}
}
