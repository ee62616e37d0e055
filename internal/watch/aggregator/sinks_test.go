// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"path/filepath"
	"slices"
	"testing"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/target"
)

func TestProgramOfUnknownNameHasALabel(t *testing.T) {
	a := New(&target.SamplingOptions{}, profile.NewBuilder(profile.Meta{}), nil, nil, target.NewCommon())
	p := ofPID(4711)
	for name, want := range map[string]string{"": "[children: ?]", "ls": "[children: ls]"} {
		s := attribute.Span{
			Place: attribute.Place{Program: programOf(&target.Program{Name: name}), State: sample.Running},
			Leaf:  attribute.ExitedUnseen,
		}
		if got := a.out.interval(p, nil, &s).Thread; got != want {
			t.Errorf("thread of program %q is named %q, want %q", name, got, want)
		}
	}
}

func TestStacksOfSleepersOutliveAPartOfTheRecording(t *testing.T) {
	a := New(&target.SamplingOptions{}, profile.NewBuilder(profile.Meta{Rotates: true}), nil, nil, target.NewCommon())
	p := a.states.process(&target.Process{ID: 1, Code: ofPID(4711).process.Code})
	stackOf := func(name string) sample.StackID { return a.out.recording.Intern([]profile.Loc{{Synthetic: name}}) }
	thread, task, unused := stackOf("thread"), stackOf("task"), stackOf("unused")
	p.tasks.all = append(p.tasks.all, &taskPoller{slots: []taskSlot{{from: 5, seen: 5, parked: true, stack: task}}})
	a.attribute(&attribute.Sampled{Process: 1, Thread: 1, Sample: attribute.Sample{
		Place: attribute.Place{Stack: thread, State: sample.Sleeping},
	}})
	a.attribute(&attribute.Cut{})
	if err := a.out.recording.Rotate(filepath.Join(t.TempDir(), "part.pb.gz"), nil); err != nil {
		t.Fatal(err)
	}
	a.evict()
	for name, id := range map[string]sample.StackID{"thread": thread, "task": task} {
		if locs, _ := a.out.recording.Stack(id, nil); len(locs) != 1 || locs[0].Synthetic != name {
			t.Errorf("the stack of the %s has %d entries, want its own", name, len(locs))
		}
	}
	if locs, _ := a.out.recording.Stack(unused, nil); len(locs) != 0 {
		t.Errorf("an unused stack has %d entries after the eviction", len(locs))
	}
}

type cutter struct {
	walls, samples []int64
	isDue          bool
}

func (c *cutter) Add(iv profile.Interval) {
	c.walls, c.samples = append(c.walls, iv.Wall), append(c.samples, iv.Samples)
}

func (c *cutter) RefreshCut(_ int64, cut func()) {
	if c.isDue {
		cut()
	}
}

func TestACutterGetsASleepInPieces(t *testing.T) {
	sink := &cutter{}
	o, b := &target.SamplingOptions{Sinks: []profile.Sink{sink}}, profile.NewBuilder(profile.Meta{})
	a := New(o, b, nil, nil, target.NewCommon())
	a.states.process(&target.Process{ID: 1, Code: ofPID(4711).process.Code})
	asleepAt := func(wall int64) {
		a.attribute(&attribute.Sampled{Process: 1, Thread: 1, Sample: attribute.Sample{
			Place: attribute.Place{State: sample.Sleeping}, At: sample.Reading{Wall: wall},
		}})
	}
	asleepAt(1000)
	asleepAt(1900)
	a.refreshSinks(1900)
	if len(sink.walls) != 0 {
		t.Errorf("pieces of %d before a cut", sink.walls)
	}
	sink.isDue = true
	a.refreshSinks(1900)
	a.refreshSinks(1900)
	asleepAt(2500)
	a.refreshSinks(2500)
	if !slices.Equal(sink.walls, []int64{900, 600}) || !slices.Equal(sink.samples, []int64{2, 1}) {
		t.Errorf("pieces of %d with %d samples, want 900, 600 with 2, 1", sink.walls, sink.samples)
	}
}
