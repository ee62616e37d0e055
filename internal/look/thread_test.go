package look

import "testing"

// TestTopThatWasWrongOnceIsNotBelievedAgain: the next look copies all that there may be.
func TestTopThatWasWrongOnceIsNotBelievedAgain(t *testing.T) {
	th := NewThread(1, 1, nil)
	th.Top(1 << 20)
	th.Needed(1000, leastCopy, false)
	if got := th.top.Load(); got != 1<<20+copySlack {
		t.Errorf("top %#x", got)
	}
	th.Needed(2000, leastCopy, true)
	if th.top.Load() != 0 || th.need.Load() != leastCopy || !th.again.Load() {
		t.Errorf("top %#x, %d bytes, again %v", th.top.Load(), th.need.Load(), th.again.Load())
	}
	th.Top(1 << 20)
	if th.top.Load() != 0 {
		t.Error("believed again")
	}
	th.Needed(2000, leastCopy, true)
	if th.need.Load() != 4*leastCopy {
		t.Errorf("%d bytes after a copy that was too short", th.need.Load())
	}
}

// TestLooksThatAreWalkedTogetherAskForTheSame: the second was as short as the first, for the same reason.
func TestLooksThatAreWalkedTogetherAskForTheSame(t *testing.T) {
	th := NewThread(1, 1, nil)
	for range 4 {
		th.Needed(leastCopy, leastCopy, true)
	}
	if got := th.need.Load(); got != 4*leastCopy {
		t.Errorf("%d bytes after four copies of %d that were too short", got, leastCopy)
	}
	th.Needed(4*leastCopy, 4*leastCopy, true)
	if got := th.need.Load(); got != 16*leastCopy {
		t.Errorf("%d bytes after one of four times as many", got)
	}
}
