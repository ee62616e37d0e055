// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
)

func TestCopiesOfOtherStacksGrowWhereTheyEnd(t *testing.T) {
	k := NewThread(1, 1, nil).Feedback()
	const one, two = 0x700000, 0x100000
	k.CopyOther(one)
	k.CopyOtherDeep(two, 1<<20)
	places := &k.hints.Others
	if k.hints.Retries != 1 || places[0].copyBytes() != otherStackBytes || places[1].copyBytes() != 1<<20 {
		t.Fatalf("%+v", k.hints)
	}
	k.CopyOtherDeep(two+1<<20, 4<<20)
	k.CopyOtherDeep(one+1000, deepCopy)
	if places[0].copyBytes() != deepCopy || places[1].copyBytes() != 5<<20 || places[2].At != 0 {
		t.Errorf("%+v", places)
	}
}

// A place that is asked for again is kept twice as long.
func TestPlacesOnOtherStacksAreGivenUp(t *testing.T) {
	const at, other = 0x700000, 0x100000
	k := NewThread(1, 1, nil).Feedback()
	for _, lasts := range []int{minOthersKept, 2 * minOthersKept, 4 * minOthersKept} {
		k.others.addMissing(at)
		k.others.addMissing(other)
		for range 3 * lasts {
			k.others.countWalk(3)
		}
		for range lasts {
			if k.hints.Others[0].At != at || k.hints.Others[1].At != other {
				t.Fatalf("one is gone before %d walks: %+v", lasts, k.hints.Others)
			}
			k.others.countWalk(2)
		}
		if k.hints.Others[0].At != other || k.hints.Others[1].At != 0 {
			t.Fatalf("after %d walks at the second: %+v", lasts, k.hints.Others)
		}
		for range lasts {
			if k.hints.Others[0].At != other {
				t.Fatalf("the second is gone before %d walks", lasts)
			}
			k.others.countWalk(0)
		}
		if k.hints.Others[0].At != 0 {
			t.Fatalf("it is still there after %d walks", lasts)
		}
	}
}

func TestAStackThatCompleteWalksWereAtIsNotGivenUp(t *testing.T) {
	const at = 0x700000
	k := NewThread(1, 1, nil).Feedback()
	k.others.addMissing(at)
	k.others.endedAt(at+0x100, true)
	for range 2 * maxOthersKept {
		k.others.countWalk(0)
	}
	if k.hints.Others[0].At != at {
		t.Errorf("%+v", k.hints.Others)
	}
}

func TestNothingIsCopiedBehindTheOutermostFrameOfAnotherStack(t *testing.T) {
	const at = 0x700000
	k := NewThread(1, 1, nil).Feedback()
	p := &k.hints.Others[0]
	k.others.addMissing(at)
	for _, e := range []struct {
		sp       frames.Addr
		complete bool
		found    bool
		bytes    int
	}{
		{at - otherStackBelow - 8, true, false, otherStackBytes},
		{at + otherStackBytes, true, false, otherStackBytes},
		{0, true, false, otherStackBytes},
		{at + 0x200, false, true, otherStackBytes},
		{at - 8, true, true, otherStackBelow + 1 + copyMargin},
		{at + 0x200, true, true, otherStackBelow + 0x200 + copyMargin},
		{at + 0x100, true, true, otherStackBelow + 0x200 + copyMargin},
		{at + otherStackBytes - 8, true, true, otherStackBytes},
	} {
		if found := k.others.endedAt(e.sp, e.complete) == 1; found != e.found || p.copyBytes() != e.bytes {
			t.Errorf("%#x, complete %v: %v, %d bytes; want %v, %d", e.sp, e.complete, found, p.copyBytes(), e.found, e.bytes)
		}
	}
	if k.others.addMissing(at + 8); p.copyBytes() != otherStackBytes || k.hints.Others[1].At != 0 {
		t.Errorf("the place lacked something, and now has %d bytes", p.copyBytes())
	}
}

func TestPlacesThatWereAskedForLast(t *testing.T) {
	const at = 0x700000
	k := NewThread(1, 1, nil).Feedback()
	k.CopyOther(at)
	k.CopyOtherDeep(at, 1<<20)
	var w frames.Walker
	for range 2 * maxOthersKept {
		k.others.noteUsed(&w)
	}
	if k.hints.Others[0].copyBytes() != 1<<20 {
		t.Errorf("%+v", k.hints.Others)
	}
}

func TestTheStackThatAThreadBeganOnIsCopiedAtFirst(t *testing.T) {
	const end = 0x7ffd00000000
	th := NewThread(1, 1, nil)
	if th.SetFirstStackEnd(0); th.hints.get().Others[0].At != 0 {
		t.Error("no stack is known")
	}
	th.SetFirstStackEnd(end)
	if p := th.hints.get().Others[0]; !p.FirstStack || p.At >= end || p.At+uint64(p.copyBytes()) < end {
		t.Errorf("%+v is copied of a stack that ends at %#x", p, uint64(end))
	}
	at := th.hints.get().Others[0].At
	for sp, want := range map[uint64]bool{
		end - 8: true, at: true, at - 1<<20: true, end - maxCopy: true,
		end - maxCopy - 8: false, end + 8: false, 0x1000: false,
	} {
		if onFirstStack(at, sp) != want {
			t.Errorf("a stack pointer of %#x: on the first stack %t", sp, !want)
		}
	}
	k := th.Feedback()
	for range minOthersKept {
		k.others.countWalk(0)
	}
	if k.hints.Others[0].At != 0 {
		t.Error("it is copied for ever")
	}
}
