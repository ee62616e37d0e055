// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes"
)

type fakeRuntime struct {
	managed.Base
	here bool
}

func (s *fakeRuntime) Name() string             { return "Fake 1" }
func (s *fakeRuntime) Attach(managed.Host) bool { return s.here }

func detecting(t *testing.T, d managed.Detector) (f *detectedRuntimes, calls *int) {
	t.Helper()
	was := runtimes.Detectors
	t.Cleanup(func() { runtimes.Detectors = was })
	calls = new(int)
	runtimes.Detectors = []managed.Detector{func(h managed.Host) (managed.Runtime, error) {
		*calls++
		return d(h)
	}}
	return &detectedRuntimes{}, calls
}

func withImage() *frames.Module { return &frames.Module{Origin: &Mapping{Image: &Image{}}} }

func TestDetectorsRunAgainForNewFilesOnly(t *testing.T) {
	f, calls := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, nil })
	h := &runtimeHost{mods: []*frames.Module{withImage()}}
	for range 5 {
		f.detect(h)
		f.retry(h)
	}
	if *calls != 1 {
		t.Errorf("detector called %d times for the same files, want 1", *calls)
	}
	h.mods = append(h.mods, withImage())
	f.detect(h)
	if *calls != 2 {
		t.Errorf("detector called %d times, the second with a new file; want 2", *calls)
	}
}

func TestFailedDetectionIsRetriedAtGrowingIntervals(t *testing.T) {
	loading := errors.New("the runtime is still being loaded")
	f, calls := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, loading })
	h := &runtimeHost{}
	f.detect(h)
	for n, last := 1, 1; n < 10000; n++ {
		f.retry(h)
		if *calls > last && n < 1<<(last-1) {
			t.Errorf("detector called for the %dth time after %d refreshes", *calls, n)
		}
		last = *calls
	}
	if *calls != maxTries || !errors.Is(f.unreadReason(), loading) {
		t.Errorf("detector called %d times, error %v; want %d, the detector's error", *calls, f.unreadReason(), maxTries)
	}
}

func TestAProcessBeforeItsExecIsDetectedAgain(t *testing.T) {
	f, calls := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, managed.ErrNotYet })
	h := &runtimeHost{}
	f.detect(h)
	const refreshes = 10000
	for range refreshes {
		if left := *calls < maxTries; f.starting() != left || f.unreadReason() != nil {
			t.Fatalf("detector called %d times: starting %v, error %v", *calls, f.starting(), f.unreadReason())
		}
		f.retry(h)
	}
	const apart = 1 << (maxTries - 2)
	if want := maxTries + (refreshes-(2*apart-1))/apart; *calls != want {
		t.Errorf("detector called %d times, want %d", *calls, want)
	}
}

func TestDetectionIsRetriedWhileMappingsChange(t *testing.T) {
	f, calls := detecting(t, func(managed.Host) (managed.Runtime, error) { return nil, managed.ErrNotYet })
	h := &runtimeHost{}
	for range 1 << (maxTries - 1) {
		f.detect(h)
	}
	if *calls != maxTries {
		t.Errorf("detector called %d times, want %d", *calls, maxTries)
	}
}

func TestRuntimeIsFoundLaterAndForgottenWhenItIsGone(t *testing.T) {
	s, ready := &fakeRuntime{here: true}, false
	f, _ := detecting(t, func(managed.Host) (managed.Runtime, error) {
		if !ready || !s.here {
			return nil, errors.New("not yet")
		}
		return s, nil
	})
	h := &runtimeHost{}
	f.detect(h)
	ready = true
	if !f.retry(h) || f.detections[0].runtime != s || f.unreadReason() != nil {
		t.Errorf("slots %+v, want the runtime found", f.detections)
	}
	s.here = false
	if f.detect(h); f.detections[0].runtime != nil {
		t.Errorf("the runtime is gone, yet it is kept: %+v", f.detections)
	}
}

type moduleRuntime struct {
	fakeRuntime
	module *frames.Module
}

func (s *moduleRuntime) Module() *frames.Module { return s.module }

func TestRuntimeIsFoundForEachModule(t *testing.T) {
	var made []*moduleRuntime
	f, _ := detecting(t, func(h managed.Host) (managed.Runtime, error) {
		if len(h.Modules()) == 0 {
			return nil, nil
		}
		s := &moduleRuntime{fakeRuntime{here: true}, h.Modules()[0]}
		made = append(made, s)
		return s, nil
	})
	h := &runtimeHost{mods: []*frames.Module{withImage(), withImage()}}
	found := func() (n int) {
		for i := range f.detections {
			if f.detections[i].runtime != nil {
				n++
			}
		}
		return n
	}
	f.detect(h)
	if found() != 2 || made[0].module == made[1].module {
		t.Fatalf("%d runtimes found, %d made; want two of two modules", found(), len(made))
	}
	h.mods = append(h.mods, withImage())
	if f.detect(h); found() != 3 {
		t.Errorf("%d runtimes with a third module, want 3", found())
	}
	for range 3 * maxOfKind {
		made[0].here = false
		h.mods = h.mods[1:]
		f.detect(h)
		made = made[1:]
		h.mods = append(h.mods, withImage())
		f.detect(h)
	}
	if found() != 3 || len(f.detections) > 4 {
		t.Errorf("%d runtimes in %d slots, want 3 in at most 4", found(), len(f.detections))
	}
	for range maxOfKind {
		h.mods = append(h.mods, withImage())
	}
	if f.detect(h); found() != maxOfKind {
		t.Errorf("%d runtimes of %d modules, want %d", found(), len(h.mods), maxOfKind)
	}
}
