// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"prywalk/internal/base/sample"
)

type stackUse struct {
	known map[sample.StackID]bool
	bad   []Interval
	old   int
	since map[sample.StackID]bool
}

func (u *stackUse) Add(i *Interval) {
	switch {
	case i.Leaf == NotObserved || i.Leaf == ExitedUnseen || i.Leaf == ShortLivedChildren || u.known == nil:
	case !u.known[i.Stack]:
		u.bad = append(u.bad, *i)
	case !u.since[i.Stack]:
		u.old++
	}
}

func (*stackUse) ProcessDone(sample.ProcessID) {}

func TestStacksOfLaterIntervalsAreKnown(t *testing.T) {
	streams, _ := filepath.Glob("testdata/*.events")
	if len(streams) == 0 {
		t.Fatal("no testdata/*.events")
	}
	const every = 13
	for _, path := range streams {
		stream, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n, u := 0, &stackUse{}
		_, err = replayEach(bytes.NewReader(stream), u, func(a *Attribution, e Event) {
			if n++; n%every == 0 {
				a.Apply(&Cut{})
				u.known, u.since = map[sample.StackID]bool{}, map[sample.StackID]bool{}
				a.EachStack(func(id sample.StackID) { u.known[id] = true })
			}
			if u.known == nil {
				return
			}
			switch e := e.(type) {
			case *Sampled:
				u.known[e.Place.Stack], u.since[e.Place.Stack] = true, true
			case *UnassignedSample:
				u.known[e.Place.Stack], u.since[e.Place.Stack] = true, true
			}
		})
		if err != nil || len(u.bad) > 0 || u.old == 0 {
			t.Errorf("%s: error %v, %d intervals with stacks of before the cut, unknown ones: %+v", path, err, u.old, u.bad)
		}
	}
}

// Each case begins with events, after which stack 7 is in one place of the accounts only; the end then gives it time.
func TestStacksInEachPlaceOfTheAccountsAreKnown(t *testing.T) {
	at := func(stack sample.StackID, wall, cpu int64, onCPU, skids bool) *Sampled {
		state := sample.Sleeping
		if onCPU || skids {
			state = sample.Running
		}
		return &Sampled{Process: 1, Thread: 1, CreatedAt: 1, Sample: Sample{
			At: sample.Reading{Wall: wall, CPU: cpu}, Place: Place{Stack: stack, State: state}, OnCPU: onCPU, Skids: skids,
		}}
	}
	young := func() *Sampled {
		e := at(7, 2e6, 1e6, true, false)
		e.StandsFor = 10e6
		return e
	}
	old := at(7, 2e6, 1e6, true, false)
	old.FromKernel, old.CreatedAt = true, 0
	next := *old
	next.Place.Stack, next.At = 8, sample.Reading{Wall: 3e6, CPU: 2e6}
	ended := &ThreadEnded{Process: 1, Thread: 1, CreatedAt: 1}
	for name, c := range map[string][]Event{
		"sleeps":          {at(7, 2e6, 0, false, false), &Cut{}},
		"was on a CPU":    {at(7, 2e6, 1e6, true, false), at(8, 9e6, 2e6, false, true), &Cut{}},
		"was queued":      {at(8, 2e6, 1e6, true, false), at(7, 4e6, 3e6, false, true), &Cut{}},
		"is pending":      {old, &next},
		"has a weight":    {young(), at(8, 3e6, 2e6, true, false), &Cut{}},
		"of an ended one": {young(), ended},
		"of a child":      {&UnassignedSample{Process: 1, Place: Place{Stack: 7}, StandsFor: 5e6, At: 2e6, OfChild: true}},
	} {
		a := New(Scope{}, nil, newSums())
		a.Apply(&ProcessStarted{Process: 1, Since: 1, FromStart: true})
		for _, e := range c {
			a.Apply(e)
		}
		found := false
		a.EachStack(func(id sample.StackID) { found = found || id == 7 })
		if !found {
			t.Errorf("%s: its stack is not among those in use", name)
		}
	}
}
