// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
)

func TestAThreadWhoseSamplesWereCutIsStoppedForLongerEachTime(t *testing.T) {
	k := newCopyLearner()
	for want := minDeepStops; want <= 2*maxDeepStops; want *= 2 {
		for range 3 {
			k.depth.stopForDepth(8 << 10)
		}
		stopped := 0
		for ; k.hints.tooDeepForSamples; stopped++ {
			k.depth.learnStop(8 << 10)
		}
		if stopped != min(want, maxDeepStops) {
			t.Fatalf("%d stops, want %d", stopped, want)
		}
	}
}

func TestAThreadWhoseBuffersHaveNoPagesYetIsStoppedOnce(t *testing.T) {
	k := newCopyLearner()
	cut := &RawSample{How: ByKernelSample, Limits: copyLimits{fullSampleBytes: 8 << 10}}
	cut.Mem.Stack = frames.Region{Addr: 0x7000, Bytes: make([]byte, 3<<10)}
	for _, want := range []int{1, 2, 4, 8, minDeepStops, minDeepStops} {
		for range 3 {
			k.depth.learnCutSample(cut)
		}
		stopped := 0
		for ; k.hints.tooDeepForSamples && stopped <= want; stopped++ {
			k.depth.learnStop(5 << 10)
		}
		if stopped != want {
			t.Errorf("%d stops, want %d", stopped, want)
		}
	}
}

func TestAThreadWithoutPagesWhoseStackIsDeepOnceIsSampledAgain(t *testing.T) {
	k := newCopyLearner()
	cut := &RawSample{How: ByKernelSample, Limits: copyLimits{fullSampleBytes: 8 << 10}}
	k.depth.learnCutSample(cut)
	k.depth.learnStop(8<<10 + 1)
	stopped := 0
	for ; k.hints.tooDeepForSamples && stopped < maxDeepStops; stopped++ {
		k.depth.learnStop(100)
	}
	if stopped != minDeepStops {
		t.Errorf("%d stops that found it shallow, want %d", stopped, minDeepStops)
	}
}

func TestAThreadIsStoppedAsLongAsItsStackIsDeep(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want int
	}{{1, minDeepStops}, {99, 49}, {1000, 500}} {
		k := newCopyLearner()
		k.setRate(c.rate)
		requestStop := func(used int) {
			k.depth.learnStop(used)
		}
		k.depth.stopForDepth(8 << 10)
		for range 3 * maxDeepStops {
			requestStop(8<<10 + 1)
		}
		for range c.want - 1 {
			requestStop(100)
		}
		if !k.hints.tooDeepForSamples {
			t.Errorf("%v Hz: sampled after %d stops that found it shallow", c.rate, c.want-1)
		}
		requestStop(8<<10 + 1)
		for n := 1; n <= c.want; n++ {
			if requestStop(100); k.hints.tooDeepForSamples == (n == c.want) {
				t.Errorf("%v Hz: after %d stops that found it shallow: sampled %v", c.rate, n, !k.hints.tooDeepForSamples)
			}
		}
	}
}
