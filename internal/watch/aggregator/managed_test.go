// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"fmt"
	"os"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/managed"
	"prywalk/ptrace"
)

// interpreter gives each native frame a managed frame of a chosen object.
type interpreter struct {
	managed.Base

	object  uint64
	freed   bool
	queries int
}

func (*interpreter) Name() string             { return "Fake 1" }
func (*interpreter) Attach(managed.Host) bool { return true }
func (*interpreter) Begin(*managed.Sample)    {}
func (*interpreter) End() managed.Health      { return managed.Matched }

func (f *interpreter) ManagedFrames(n *frames.Frame, _ frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	return append(out, managed.Ref{Object: f.object, Position: n.PC}), true
}

func (f *interpreter) Symbolize(r managed.Ref, _ managed.Live, out []managed.Frame) (
	[]managed.Frame, managed.Certainty,
) {
	f.queries++
	if f.freed {
		return out, managed.Freed
	}
	return append(out, managed.Frame{Function: fmt.Sprint("f", r.Object), Type: "interpreted"}), managed.Checked
}

const sampledAt = 1 // long ago

func interpreted(t *testing.T) (f *interpreter, p *processState, walk func()) {
	t.Helper()
	opened, err := loadedcode.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	opened.Space().SetModules([]*frames.Module{{Start: 0x10000, End: 0x20000, Name: "m",
		Sources: []frames.RuleSource{calls{}}}})
	p, th := neverRefreshed(opened)
	u := newStackBuilder(profile.NewBuilder(profile.Meta{}), 0)
	s, f := deepSample(10), &interpreter{}
	s.At = sampledAt
	sources := []managed.FrameSource{f}
	return f, p, func() {
		u.stack = u.stack[:0]
		if end := u.walkManaged(p, th, s, sources); !end.Complete() || len(u.stack) != 20 {
			t.Fatalf("walk stops with %v after %d entries, want a root after 20", end, len(u.stack))
		}
	}
}

// The mappings are then read again: a library may have been loaded since.
func TestFramesInNoModuleAreNoticedInProcessesWithARuntime(t *testing.T) {
	opened, err := loadedcode.Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	m := &frames.Module{Start: 0x10000, End: 0x20000, Name: "m", Sources: []frames.RuleSource{calls{}}}
	for want, modules := range map[bool][]*frames.Module{false: {m}, true: nil} {
		opened.Space().SetModules(modules)
		p, th := neverRefreshed(opened)
		u := newStackBuilder(profile.NewBuilder(profile.Meta{}), 0)
		u.walkManaged(p, th, deepSample(2), []managed.FrameSource{&interpreter{}})
		if u.unmapped != want {
			t.Errorf("%d modules: unmapped %t, want %t", len(modules), u.unmapped, want)
		}
	}
}

func TestManagedFramesAreDescribedOnce(t *testing.T) {
	f, p, walk := interpreted(t)
	for range 5 {
		walk()
	}
	if f.queries != 10 {
		t.Errorf("%d calls of Symbolize for 10 frames, want 10", f.queries)
	}
	if n := testing.AllocsPerRun(20, walk); n > 0 {
		t.Errorf("%v allocations in a walk of known frames, want 0", n)
	}
	for f.object = range uint64(3 * maxCached / 10) {
		walk()
	}
	if n := len(p.managedNames.descriptions); n > maxCached {
		t.Errorf("%d descriptions are kept, want at most %d", n, maxCached)
	}
}

func TestSamplesAreWalkedAtOnceAfterAFreedFunction(t *testing.T) {
	f, p, walk := interpreted(t)
	if walk(); p.process.WalkAtOnce(sampledAt) {
		t.Error("after a walk without a freed function")
	}
	f.object, f.freed = 1, true
	before := ptrace.Now()
	if walk(); !p.process.WalkAtOnce(before) {
		t.Error("not after a walk with a freed function, of a sample that is older than a second")
	}
}

func TestFreedFunctionIsSymbolizedAtEachWalk(t *testing.T) {
	f, p, walk := interpreted(t)
	f.freed = true
	walk()
	walk()
	if f.queries != 20 || len(p.managedNames.descriptions) != 0 {
		t.Errorf("%d calls of Symbolize, %d descriptions kept; want 20 and 0", f.queries, len(p.managedNames.descriptions))
	}
}
