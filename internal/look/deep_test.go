// SPDX-License-Identifier: Apache-2.0

package look

import "testing"

// TestAThreadWhoseSamplesWereCutIsFrozenForLongerEachTime: though its stack is shallow most of the time. Samples that
// were taken before it was frozen do not count again.
func TestAThreadWhoseSamplesWereCutIsFrozenForLongerEachTime(t *testing.T) {
	th := NewThread(1, 1, nil)
	th.SetSampled(8 << 10)
	k := th.Walks()
	for want := deepLeast; want <= 2*deepMost; want *= 2 {
		for range 3 {
			k.deepAgain(8 << 10)
		}
		k.handOver()
		th.needs.take()
		frozen := 0
		for ; !th.Sampled(); frozen++ {
			k.frozenDeep(8 << 10)
			k.handOver()
			th.needs.take()
		}
		if frozen != min(want, deepMost) {
			t.Fatalf("%d looks by freezing, want %d", frozen, want)
		}
	}
}

// TestAThreadWhoseBuffersHaveNoPagesYetIsFrozenOnce: the kernel's copy ends at such a page, which the freeze reads. If
// that happens again, it is frozen more often, but not for ever.
func TestAThreadWhoseBuffersHaveNoPagesYetIsFrozenOnce(t *testing.T) {
	th := NewThread(1, 1, nil)
	th.SetSampled(8 << 10)
	k := th.Walks()
	s := &Shot{How: BySample, asked: 8 << 10, buf: make([]byte, 8<<10)}
	for _, want := range []int{1, 2, 4, 8, deepLeast, deepLeast} {
		for range 3 { // what was sampled before the freeze does not count
			s.setStack(0x7000, 3<<10, s.asked)
			k.lacksStack(s)
		}
		k.handOver()
		th.needs.take()
		frozen := 0
		for ; !th.Sampled() && frozen <= want; frozen++ {
			k.frozenDeep(5 << 10)
			k.handOver()
			th.needs.take()
		}
		if frozen != want {
			t.Errorf("%d looks by freezing, want %d", frozen, want)
		}
	}
}

// TestAThreadIsFrozenAsLongAsItsStackIsDeep: freezes that find it deep do not count, and those before neither. The
// number is that of half a second.
func TestAThreadIsFrozenAsLongAsItsStackIsDeep(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want int
	}{{1, deepLeast}, {99, 49}, {1000, 500}} {
		th := NewThread(1, 1, nil)
		th.SetSampled(8 << 10)
		th.SetRate(c.rate)
		k := th.Walks()
		freeze := func(used int) {
			k.frozenDeep(used)
			k.handOver()
			th.needs.take()
		}
		k.deepAgain(8 << 10)
		for range 3 * deepMost {
			freeze(8<<10 + 1)
		}
		for range c.want - 1 {
			freeze(100)
		}
		if th.Sampled() || !th.Deep() {
			t.Errorf("%v Hz: sampled after %d freezes that found it shallow", c.rate, c.want-1)
		}
		freeze(8<<10 + 1)
		for n := 1; n <= c.want; n++ {
			if freeze(100); th.Sampled() != (n == c.want) || th.Deep() == th.Sampled() {
				t.Errorf("%v Hz: after %d freezes that found it shallow: sampled %v", c.rate, n, th.Sampled())
			}
		}
	}
}
