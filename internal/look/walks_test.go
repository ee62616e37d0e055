package look

import "testing"

// TestTopThatWasWrongOnceIsNotBelievedAgain: the next look copies all that there may be.
func TestTopThatWasWrongOnceIsNotBelievedAgain(t *testing.T) {
	k := NewThread(1, 1, nil).Walks()
	n := &k.needs
	k.endedAt(1 << 20)
	k.used(1000, leastCopy, false, false)
	if n.Top != 1<<20+copyMargin {
		t.Errorf("top %#x", n.Top)
	}
	k.used(2000, leastCopy, true, true)
	if n.Top != 0 || n.Bytes != leastCopy || n.Retries != 1 {
		t.Errorf("%+v", n)
	}
	k.endedAt(1 << 20)
	if n.Top != 0 {
		t.Error("believed again")
	}
	k.used(2000, leastCopy, true, true)
	if n.Bytes != 4*leastCopy {
		t.Errorf("%d bytes after a copy that was too short", n.Bytes)
	}
}

// TestLooksThatAreWalkedTogetherAskForTheSame: the second was as short as the first, for the same reason.
func TestLooksThatAreWalkedTogetherAskForTheSame(t *testing.T) {
	k := NewThread(1, 1, nil).Walks()
	for range 4 {
		k.used(leastCopy, leastCopy, true, false)
	}
	if got := k.needs.Bytes; got != 4*leastCopy {
		t.Errorf("%d bytes after four copies of %d that were too short", got, leastCopy)
	}
	k.used(4*leastCopy, 4*leastCopy, true, false)
	if got := k.needs.Bytes; got != 16*leastCopy {
		t.Errorf("%d bytes after one of four times as many", got)
	}
}

// TestTopIsBelievedWhereTheCopyDidNotGoUpToIt: it was too short for another reason.
func TestTopIsBelievedWhereTheCopyDidNotGoUpToIt(t *testing.T) {
	k := NewThread(1, 1, nil).Walks()
	k.endedAt(1 << 20)
	k.used(2000, leastCopy, true, false)
	if n := k.needs; n.Top != 1<<20+copyMargin || n.Bytes != 4*leastCopy {
		t.Errorf("%+v", n)
	}
}
