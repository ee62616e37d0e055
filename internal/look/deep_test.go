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
			k.deepAgain()
		}
		k.handOver()
		th.needs.take()
		frozen := 0
		for ; !th.Sampled(); frozen++ {
			k.frozenDeep()
			k.handOver()
			th.needs.take()
		}
		if frozen != min(want, deepMost) {
			t.Fatalf("%d looks by freezing, want %d", frozen, want)
		}
	}
}
