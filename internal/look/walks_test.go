package look

import "testing"

// TestTopThatWasWrongOnceIsNotBelievedAgain: the next look copies all that there may be.
func TestTopThatWasWrongOnceIsNotBelievedAgain(t *testing.T) {
	k := NewThread(1, 1, nil).Walks()
	n := &k.needs
	k.endedAt(1 << 20)
	k.used(1000, leastCopy, false)
	if n.Top != 1<<20+copyMargin {
		t.Errorf("top %#x", n.Top)
	}
	k.used(2000, leastCopy, true)
	if n.Top != 0 || n.Bytes != leastCopy || n.Retries != 1 {
		t.Errorf("%+v", n)
	}
	k.endedAt(1 << 20)
	if n.Top != 0 {
		t.Error("believed again")
	}
	k.used(2000, leastCopy, true)
	if n.Bytes != 4*leastCopy {
		t.Errorf("%d bytes after a copy that was too short", n.Bytes)
	}
}

// TestLooksThatAreWalkedTogetherAskForTheSame: the second was as short as the first, for the same reason.
func TestLooksThatAreWalkedTogetherAskForTheSame(t *testing.T) {
	k := NewThread(1, 1, nil).Walks()
	for range 4 {
		k.used(leastCopy, leastCopy, true)
	}
	if got := k.needs.Bytes; got != 4*leastCopy {
		t.Errorf("%d bytes after four copies of %d that were too short", got, leastCopy)
	}
	k.used(4*leastCopy, 4*leastCopy, true)
	if got := k.needs.Bytes; got != 16*leastCopy {
		t.Errorf("%d bytes after one of four times as many", got)
	}
}
