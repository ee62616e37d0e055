// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
)

func TestCopiesOfOtherStacksGrowWhereTheyEnd(t *testing.T) {
	k := newCopyLearner()
	const one, two = 0x700000, 0x100000
	added := k.addOtherStack(one)
	k.extendOtherStack(two, 1<<20)
	places := &k.hints.stackPlaces
	if !added || places[0].copyBytes() != otherStackBytes || places[1].copyBytes() != 1<<20 {
		t.Fatalf("%+v", k.hints)
	}
	k.extendOtherStack(two+1<<20, 4<<20)
	k.extendOtherStack(one+1000, maxDeepStack)
	if places[0].copyBytes() != maxDeepStack || places[1].copyBytes() != 5<<20 || places[2].at != 0 {
		t.Errorf("%+v", places)
	}
}

func TestPlacesOnOtherStacksAreGivenUp(t *testing.T) {
	const at, other = 0x700000, 0x100000
	k := newCopyLearner()
	for _, lasts := range []int{minOthersKept, 2 * minOthersKept, 4 * minOthersKept} {
		k.others.addMissing(at, frames.StackLink{}, false)
		k.others.addMissing(other, frames.StackLink{}, false)
		for range 3 * lasts {
			k.others.countWalk(3)
		}
		for range lasts {
			if k.hints.stackPlaces[0].at != at || k.hints.stackPlaces[1].at != other {
				t.Fatalf("one is gone before %d walks: %+v", lasts, k.hints.stackPlaces)
			}
			k.others.countWalk(2)
		}
		if k.hints.stackPlaces[0].at != other || k.hints.stackPlaces[1].at != 0 {
			t.Fatalf("after %d walks at the second: %+v", lasts, k.hints.stackPlaces)
		}
		for range lasts {
			if k.hints.stackPlaces[0].at != other {
				t.Fatalf("the second is gone before %d walks", lasts)
			}
			k.others.countWalk(0)
		}
		if k.hints.stackPlaces[0].at != 0 {
			t.Fatalf("it is still there after %d walks", lasts)
		}
	}
}

func TestAStackThatCompleteWalksWereAtIsNotGivenUp(t *testing.T) {
	const at = 0x700000
	k := newCopyLearner()
	k.others.addMissing(at, frames.StackLink{}, false)
	k.others.placesWith(at+0x100, true)
	for range 2 * maxOthersKept {
		k.others.countWalk(0)
	}
	if k.hints.stackPlaces[0].at != at {
		t.Errorf("%+v", k.hints.stackPlaces)
	}
}

func TestNothingIsCopiedBehindTheOutermostFrameOfAnotherStack(t *testing.T) {
	const at = 0x700000
	k := newCopyLearner()
	p := &k.hints.stackPlaces[0]
	k.others.addMissing(at, frames.StackLink{}, false)
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
		if found := k.others.placesWith(e.sp, e.complete) == 1; found != e.found || p.copyBytes() != e.bytes {
			t.Errorf("%#x, complete %v: %v, %d bytes; want %v, %d", e.sp, e.complete, found, p.copyBytes(), e.found, e.bytes)
		}
	}
	if k.others.addMissing(at+8, frames.StackLink{}, false); p.copyBytes() != otherStackBytes ||
		k.hints.stackPlaces[1].at != 0 {
		t.Errorf("the place lacked something, and now has %d bytes", p.copyBytes())
	}
}

func TestPlacesThatWereAskedForAreKept(t *testing.T) {
	const at = 0x700000
	k := newCopyLearner()
	k.addOtherStack(at)
	k.extendOtherStack(at, 1<<20)
	var w frames.Walker
	for range 2 * maxOthersKept {
		k.others.learnUse(&w)
	}
	if k.hints.stackPlaces[0].copyBytes() != 1<<20 {
		t.Errorf("%+v", k.hints.stackPlaces)
	}
}

func TestTheFirstStackIsDroppedAfterOneIncompleteWalkThere(t *testing.T) {
	k := newCopyLearner()
	k.setFirstStackEnd(0x7ffd00000000)
	k.others.countWalk(1)
	walks := 0
	for ; k.hints.stackPlaces[0].at != 0 && walks < maxOthersKept; walks++ {
		k.others.countWalk(0)
	}
	if walks != minOthersKept {
		t.Errorf("dropped after %d walks elsewhere, want %d", walks, minOthersKept)
	}
}

func TestTheFirstStackIsNotCopiedForEver(t *testing.T) {
	k := newCopyLearner()
	k.setFirstStackEnd(0x7ffd00000000)
	if k.hints.stackPlaces[0].at == 0 {
		t.Fatal("it is not copied at first")
	}
	for range minOthersKept {
		k.others.countWalk(0)
	}
	if k.hints.stackPlaces[0].at != 0 {
		t.Error("it is copied for ever")
	}
}

func TestACopyByALinkGrowsWhereItWasCut(t *testing.T) {
	k := newCopyLearner()
	link := frames.StackLink{At: 0x7ffd00001000, Off: -8}
	for i, e := range []struct {
		at    frames.Addr
		cut   bool
		again bool
		bytes int
	}{
		{0x700000, false, true, otherStackBytes},
		{0x900000, false, false, otherStackBytes}, // the word led elsewhere
		{0x900000, true, true, 4 * otherStackBytes},
		{0x980000, true, true, maxCopyToEnd},
		{0xf00000, true, false, maxCopyToEnd},
	} {
		again := k.others.addMissing(e.at, link, e.cut)
		if p := &k.hints.stackPlaces[0]; again != e.again || p.copyBytes() != e.bytes || k.hints.stackPlaces[1].at != 0 {
			t.Errorf("%d: read again %v, %+v", i, again, k.hints.stackPlaces)
		}
	}
}

// leftStack is a stack whose stack pointer, 0x900000, is in the word at state + 48.
type leftStack struct{ state frames.Addr }

func (l leftStack) FindLeft(*frames.Regs, frames.Memory, frames.StopReason) (frames.LeftFrame, bool) {
	return frames.LeftFrame{PC: 0x1100, SP: 0x900000, Method: frames.MethodHeuristic, SavedSP: l.state + 48}, true
}

func (leftStack) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{Method: frames.MethodCFI, Flags: frames.FlagRoot}, nil, true
}

func TestMemoryWithTheLinkToAnotherStackIsKept(t *testing.T) {
	const state, unused = 0x500000, 0x700000
	k := newCopyLearner()
	k.others.addMissing(state, frames.StackLink{}, false)
	k.others.addMissing(unused, frames.StackLink{}, false)
	s := frames.NewSpace(frames.X86_64)
	s.SetModules([]*frames.Module{{Start: 0x1000, End: 0x2000, Sources: []frames.RuleSource{leftStack{}}}})
	s.SetLeftStacks([]frames.LeftStack{leftStack{state}})
	regs := frames.Regs{Arch: frames.X86_64, PC: 0x1100}
	regs.Set(frames.X86RSP, 0x300000)
	mem := &frames.Snapshot{Stack: frames.Region{Addr: 0x300000, Bytes: make([]byte, 64)},
		Others: []frames.Region{{Addr: state, Bytes: make([]byte, 64)}}}
	var w frames.Walker
	for w.Init(s, &regs, mem); w.Next(); {
	}
	for range 2 * minOthersKept {
		k.others.learnUse(&w)
	}
	if k.hints.stackPlaces[0].at != state || k.hints.stackPlaces[1].at != 0 {
		t.Errorf("%+v, want %#x only", k.hints.stackPlaces, state)
	}
}
