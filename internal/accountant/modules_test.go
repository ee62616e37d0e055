package accountant

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/profile"
	"prywalk/internal/testtargets"
)

// TestModulesThatAreGoneAreForgotten: only what is mapped has a shortcut, and it leads to nothing that walks need.
func TestModulesThatAreGoneAreForgotten(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	_, p := accountOf(t, pid)
	u := newUnwinder(profile.NewBuilder(profile.Meta{}), 0)
	gone := &frames.Module{Start: 1, End: 2, Name: "gone", Sources: make([]frames.RuleSource, 1)}
	ref := u.module(p, gone).Origin
	if ref.Module.Name != "gone" || ref.Module.Sources != nil || ref.Module.Calls != nil {
		t.Errorf("%+v", ref.Module)
	}
	p.remapped = true
	here := p.Target.Space().Modules()[0]
	u.module(p, here)
	if len(p.modules) != 1 || p.modules[here] == nil {
		t.Errorf("%d modules are remembered", len(p.modules))
	}
}
