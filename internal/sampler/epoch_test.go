package sampler

import (
	"testing"
	"time"
)

// TestEpochIsRightThoughItsReaderIsHeldUp: for a second between the two clocks, each
// time but one.
func TestEpochIsRightThoughItsReaderIsHeldUp(t *testing.T) {
	calls := 0
	held := func() int64 {
		calls++
		at := int64(calls/2) * 10
		if calls%2 == 0 && calls != 14 {
			at += 1e9
		}
		return at
	}
	before := time.Now().UnixNano()
	got := monotonicEpoch(held)
	if after := time.Now().UnixNano(); got < before-1000 || got > after {
		t.Errorf("%d ns too early or %d too late", before-got, got-after)
	}
}
