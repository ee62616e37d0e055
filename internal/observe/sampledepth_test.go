// SPDX-License-Identifier: Apache-2.0

package observe

import "testing"

// Samples that were taken before the stop do not count again.
func TestAThreadWhoseSamplesWereCutIsStoppedForLongerEachTime(t *testing.T) {
	th := NewThread(1, 1, nil)
	th.SetSampleStack(8 << 10)
	k := th.Feedback()
	for want := minDeepStops; want <= 2*maxDeepStops; want *= 2 {
		for range 3 {
			k.samples.stopForDepth(8 << 10)
		}
		k.handOver()
		th.hints.take()
		stopped := 0
		for ; !th.UsesSamples(); stopped++ {
			k.samples.learnStop(8 << 10)
			k.handOver()
			th.hints.take()
		}
		if stopped != min(want, maxDeepStops) {
			t.Fatalf("%d stops, want %d", stopped, want)
		}
	}
}

// The kernel's copy ends at an absent page. The stop reads that page.
func TestAThreadWhoseBuffersHaveNoPagesYetIsStoppedOnce(t *testing.T) {
	th := NewThread(1, 1, nil)
	th.SetSampleStack(8 << 10)
	k := th.Feedback()
	s := &RawSample{How: BySample, copiedMemory: copiedMemory{buf: make([]byte, 8<<10)},
		copyShape: copyShape{fullSampleBytes: 8 << 10}}
	for _, want := range []int{1, 2, 4, 8, minDeepStops, minDeepStops} {
		for range 3 { // sampled before the stop
			s.setStack(0x7000, 3<<10, s.fullSampleBytes)
			k.samples.learnCutSample(s)
		}
		k.handOver()
		th.hints.take()
		stopped := 0
		for ; !th.UsesSamples() && stopped <= want; stopped++ {
			k.samples.learnStop(5 << 10)
			k.handOver()
			th.hints.take()
		}
		if stopped != want {
			t.Errorf("%d stops, want %d", stopped, want)
		}
	}
}

// Stops that find the stack deep do not count as shallow ones.
func TestAThreadIsStoppedAsLongAsItsStackIsDeep(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want int
	}{{1, minDeepStops}, {99, 49}, {1000, 500}} {
		th := NewThread(1, 1, nil)
		th.SetSampleStack(8 << 10)
		th.SetRate(c.rate)
		k := th.Feedback()
		requestStop := func(used int) {
			k.samples.learnStop(used)
			k.handOver()
			th.hints.take()
		}
		k.samples.stopForDepth(8 << 10)
		for range 3 * maxDeepStops {
			requestStop(8<<10 + 1)
		}
		for range c.want - 1 {
			requestStop(100)
		}
		if th.UsesSamples() || !th.StoppedForDepth() {
			t.Errorf("%v Hz: sampled after %d stops that found it shallow", c.rate, c.want-1)
		}
		requestStop(8<<10 + 1)
		for n := 1; n <= c.want; n++ {
			if requestStop(100); th.UsesSamples() != (n == c.want) || th.StoppedForDepth() == th.UsesSamples() {
				t.Errorf("%v Hz: after %d stops that found it shallow: sampled %v", c.rate, n, th.UsesSamples())
			}
		}
	}
}
