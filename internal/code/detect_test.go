// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/runtimes"
)

type fakeSystem struct {
	managed.Plain
	here bool
}

func (s *fakeSystem) Name() string             { return "Fake 1" }
func (s *fakeSystem) Attach(managed.Host) bool { return s.here }

func detecting(t *testing.T, d managed.Detector) (f *foundSystems, asked *int) {
	t.Helper()
	was := runtimes.List
	t.Cleanup(func() { runtimes.List = was })
	asked = new(int)
	runtimes.List = []managed.Detector{func(h managed.Host) (managed.Runtime, error) {
		*asked++
		return d(h)
	}}
	return &foundSystems{}, asked
}

func withImage() *frames.Module { return &frames.Module{Origin: &Mapping{Image: &Image{}}} }

func TestDetectorsRunAgainForNewFilesOnly(t *testing.T) {
	f, asked := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, nil })
	h := &host{mods: []*frames.Module{withImage()}}
	for range 5 {
		f.detect(h)
		f.retry(h)
	}
	if *asked != 1 {
		t.Errorf("asked %d times of the same files", *asked)
	}
	h.mods = append(h.mods, withImage())
	f.detect(h)
	if *asked != 2 {
		t.Errorf("asked %d times, with a new file", *asked)
	}
}

func TestDetectionIsRetriedLessAndLessOften(t *testing.T) {
	loading := errors.New("it is still loaded")
	f, asked := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, loading })
	h := &host{}
	f.detect(h)
	for n, last := 1, 1; n < 10000; n++ {
		f.retry(h)
		if *asked > last && n < 1<<(last-1) {
			t.Errorf("asked for the %dth time after %d refreshes", *asked, n)
		}
		last = *asked
	}
	if *asked != maxDetections || !errors.Is(f.unknown(), loading) {
		t.Errorf("asked %d times; %v", *asked, f.unknown())
	}
}

// A refresh is worthwhile while attempts are left.
func TestAProcessBeforeItsExecIsDetectedAgain(t *testing.T) {
	f, asked := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, managed.ErrNotYet })
	h := &host{}
	f.detect(h)
	for range 1 << maxDetections {
		if left := *asked < maxDetections; f.starting() != left || f.unknown() != nil {
			t.Fatalf("asked %d times: starting %v; %v", *asked, f.starting(), f.unknown())
		}
		f.retry(h)
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
	f.detect(h)
	ready = true
	if !f.retry(h) || f.slots[0].system != s || f.unknown() != nil {
		t.Errorf("%+v", f.slots)
	}
	s.here = false
	if f.detect(h); f.slots[0].system != nil {
		t.Errorf("it has gone: %+v", f.slots)
	}
}

type moduleSystem struct {
	fakeSystem
	module *frames.Module
}

func (s *moduleSystem) Module() *frames.Module { return s.module }

// A system of a module leaves the others to the next ones of its kind.
func TestASystemIsFoundForEachModule(t *testing.T) {
	var made []*moduleSystem
	f, _ := detecting(t, func(h managed.Host) (managed.Runtime, error) {
		if len(h.Modules()) == 0 {
			return nil, nil
		}
		s := &moduleSystem{fakeSystem{here: true}, h.Modules()[0]}
		made = append(made, s)
		return s, nil
	})
	h := &host{mods: []*frames.Module{withImage(), withImage()}}
	found := func() (n int) {
		for i := range f.slots {
			if f.slots[i].system != nil {
				n++
			}
		}
		return n
	}
	f.detect(h)
	if found() != 2 || made[0].module == made[1].module {
		t.Fatalf("%d systems, %d made", found(), len(made))
	}
	h.mods = append(h.mods, withImage())
	if f.detect(h); found() != 3 {
		t.Errorf("%d systems with a third module", found())
	}
	for range 3 * maxPerModule { // modules that come and go
		made[0].here = false
		h.mods = h.mods[1:]
		f.detect(h)
		made = made[1:]
		h.mods = append(h.mods, withImage())
		f.detect(h)
	}
	if found() != 3 || len(f.slots) > 4 {
		t.Errorf("%d systems in %d slots", found(), len(f.slots))
	}
	for range maxPerModule {
		h.mods = append(h.mods, withImage())
	}
	if f.detect(h); found() != maxPerModule {
		t.Errorf("%d systems of %d modules", found(), len(h.mods))
	}
}
