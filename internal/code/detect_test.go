// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/runtimes"
)

// fakeSystem is a run-time system that is found when the test says so.
type fakeSystem struct{ here bool }

func (s *fakeSystem) Name() string            { return "Fake 1" }
func (s *fakeSystem) Adopt(managed.Host) bool { return s.here }
func (s *fakeSystem) Changed() bool           { return false }
func (s *fakeSystem) Forget()                 {}

// detecting makes the list of one detector, which counts how often it is asked.
func detecting(t *testing.T, d managed.Detector) (f *found, asked *int) {
	t.Helper()
	was := runtimes.List
	t.Cleanup(func() { runtimes.List = was })
	asked = new(int)
	runtimes.List = []managed.Detector{func(h managed.Host) (managed.Runtime, error) {
		*asked++
		return d(h)
	}}
	return &found{}, asked
}

// module gives a module with an image of its own.
func withImage() *frames.Module { return &frames.Module{Origin: &Mapping{Image: &Image{}}} }

func TestDetectorsAreAskedAgainForNewFilesOnly(t *testing.T) {
	f, asked := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, nil })
	h := &host{mods: []*frames.Module{withImage()}}
	for range 5 {
		f.adopt(h)
		f.again(h)
	}
	if *asked != 1 {
		t.Errorf("asked %d times of the same files", *asked)
	}
	h.mods = append(h.mods, withImage())
	f.adopt(h)
	if *asked != 2 {
		t.Errorf("asked %d times, with a new file", *asked)
	}
}

func TestWhoCannotBeReadYetIsAskedAgainLessAndLessOften(t *testing.T) {
	loading := errors.New("it is still loaded")
	f, asked := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, loading })
	h := &host{}
	f.adopt(h)
	for n, last := 1, 1; n < 10000; n++ {
		f.again(h)
		if *asked > last && n < 1<<(last-1) {
			t.Errorf("asked for the %dth time after %d refreshes", *asked, n)
		}
		last = *asked
	}
	if *asked != maxDetections || !errors.Is(f.unknown(), loading) {
		t.Errorf("asked %d times; %v", *asked, f.unknown())
	}
}

// TestWhoHasNotBegunIsAskedAgainAndNotTold: until it was asked so often, a refresh soon is worth it.
func TestWhoHasNotBegunIsAskedAgainAndNotTold(t *testing.T) {
	f, asked := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, managed.ErrNotYet })
	h := &host{}
	f.adopt(h)
	for range 1 << maxDetections {
		if left := *asked < maxDetections; f.starting() != left || f.unknown() != nil {
			t.Fatalf("asked %d times: starting %v; %v", *asked, f.starting(), f.unknown())
		}
		f.again(h)
	}
	if *asked != maxDetections {
		t.Errorf("asked %d times", *asked)
	}
}

func TestARunTimeSystemIsFoundLateAndLetGo(t *testing.T) {
	s, ready := &fakeSystem{here: true}, false
	f, _ := detecting(t, func(managed.Host) (managed.Runtime, error) {
		if !ready || !s.here {
			return nil, errors.New("not yet")
		}
		return s, nil
	})
	h := &host{}
	f.adopt(h)
	ready = true
	if !f.again(h) || f.slots[0].system != s || f.unknown() != nil {
		t.Errorf("%+v", f.slots)
	}
	s.here = false
	if f.adopt(h); f.slots[0].system != nil {
		t.Errorf("it has gone: %+v", f.slots)
	}
}
