// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"fmt"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type fake struct {
	managed.Base

	name          string
	knows         map[frames.Addr]int // number of managed frames by program counter
	replacesFrame bool
	health        managed.Health
	described     []string
	plan          *managed.Plan
}

func (f *fake) Name() string                            { return f.name }
func (f *fake) Attach(managed.Host) bool                { return true }
func (f *fake) Begin(*managed.Sample)                   { f.described = nil }
func (f *fake) End() managed.Health                     { return f.health }
func (f *fake) Plan() *managed.Plan                     { return f.plan }
func (f *fake) Anchor(tid int, _ uint64) (uint64, bool) { return uint64(tid), tid != 0 }

func (f *fake) ManagedFrames(n *frames.Frame, cfa frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	f.described = append(f.described, fmt.Sprintf("%x-%x", n.SP, cfa))
	k, ok := f.knows[n.PC]
	for i := range k {
		out = append(out, managed.Ref{Object: n.PC, Position: uint64(i)})
	}
	return out, ok && f.replacesFrame
}

func (f *fake) Symbolize(managed.Ref, managed.Live, []managed.Frame) ([]managed.Frame, managed.Certainty) {
	return nil, managed.SameMemory
}

// merged returns a stack of three frames, the second in generated code: native frames by pc (in braces: an
// interpreter's), managed frames by runtime (with a plus sign: compiled).
func merged(complete bool, sources ...managed.FrameSource) string {
	var m Merger
	m.Begin(sources, &managed.Sample{})
	for i := range 3 {
		f := frames.Frame{PC: uint64(i + 1), SP: uint64(0x10 * (i + 1)), Module: &frames.Module{Generated: i == 1}}
		m.Add(&f)
	}
	var out []string
	for _, e := range m.End(complete) {
		text := fmt.Sprint(e.Frame.PC)
		switch {
		case e.Source != nil:
			text = fmt.Sprintf("%s%d.%d", e.Source.Name(), e.Ref.Object, e.Ref.Position)
			if e.Compiled {
				text += "+"
			}
		case e.Machinery:
			text = "{" + text + "}"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestManagedFramesAreMergedInsideTheirNativeFrames(t *testing.T) {
	two := map[frames.Addr]int{1: 2, 2: 1, 3: 0}
	for _, tt := range []struct {
		name    string
		sources []managed.FrameSource
		want    string
	}{
		{"nobody", nil, "1 2 3"},
		{"beside", []managed.FrameSource{&fake{name: "a", knows: two}}, "a1.0 a1.1 1 a2.0 2 3"},
		{"instead", []managed.FrameSource{&fake{name: "a", knows: two, replacesFrame: true}}, "a1.0 a1.1 {1} a2.0+ {3}"},
		{"broken", []managed.FrameSource{
			&fake{name: "a", knows: two, replacesFrame: true, health: managed.Broken},
		}, "1 2 3"},
		{"left", []managed.FrameSource{&fake{name: "a", knows: two, health: managed.Unmatched}}, "a1.0 a1.1 1 a2.0 2 3"},
		{"two", []managed.FrameSource{
			&fake{name: "a", knows: map[frames.Addr]int{3: 1}}, &fake{name: "b", knows: map[frames.Addr]int{1: 1, 3: 1}},
		}, "b1.0 1 2 a3.0 3"},
		{"one of two broken", []managed.FrameSource{
			&fake{name: "a", knows: map[frames.Addr]int{3: 1}, health: managed.Broken},
			&fake{name: "b", knows: map[frames.Addr]int{1: 1}},
		}, "b1.0 1 2 3"},
	} {
		if got := merged(true, tt.sources...); got != tt.want {
			t.Errorf("%s: stack %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestNativeFramesHaveTheirCFA(t *testing.T) {
	f := &fake{}
	for complete, want := range map[bool]string{true: "10-20 20-30 30-ffffffffffffffff", false: "10-20 20-30 30-0"} {
		if merged(complete, f); strings.Join(f.described, " ") != want {
			t.Errorf("complete %v: CFAs %s, want %s", complete, f.described, want)
		}
	}
}

func TestMergingAllocatesNothing(t *testing.T) {
	var m Merger
	sources := []managed.FrameSource{&silent{}}
	s, f := &managed.Sample{}, frames.Frame{PC: 1, SP: 1}
	walk := func() {
		m.Begin(sources, s)
		for range 50 {
			m.Add(&f)
		}
		m.End(true)
	}
	walk()
	if n := testing.AllocsPerRun(20, walk); n > 0 {
		t.Errorf("%v allocations per walk, want 0", n)
	}
}

type silent struct{ fake }

func (s *silent) ManagedFrames(_ *frames.Frame, _ frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	return append(out, managed.Ref{Object: 7}), false
}

func TestPlanIsThatOfTheFirstRuntimeWithTheThread(t *testing.T) {
	a, b := &fake{}, &fake{plan: &managed.Plan{}}
	if p, at := Plan([]managed.FrameSource{a, b}, 5, 0); p != b.plan || at != 5 {
		t.Errorf("plan %v from thread %d, want %v from 5", p, at, b.plan)
	}
	if p, _ := Plan([]managed.FrameSource{a, b}, 0, 0); p != nil {
		t.Errorf("plan %v of a thread of no runtime, want nil", p)
	}
}
