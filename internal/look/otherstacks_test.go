package look

import (
	"testing"

	"prywalk/frames"
)

// TestCopiesOfOtherStacksGrowWhereTheyEnd: one that is deep beyond a change of stacks does not push out what was
// asked for elsewhere, and keeps what it has.
func TestCopiesOfOtherStacksGrowWhereTheyEnd(t *testing.T) {
	k := NewThread(1, 1, nil).Walks()
	const one, two = 0x700000, 0x100000
	k.CopyOther(one)
	k.CopyOtherDeep(two, 1<<20)
	places := &k.needs.Others
	if k.needs.Retries != 1 || places[0].bytes() != otherBytes || places[1].bytes() != 1<<20 {
		t.Fatalf("%+v", k.needs)
	}
	k.CopyOtherDeep(two+1<<20, 4<<20)
	k.CopyOtherDeep(one+1000, deepCopy)
	if places[0].bytes() != deepCopy || places[1].bytes() != 5<<20 || places[2].At != 0 {
		t.Errorf("%+v", places)
	}
}

// TestPlacesOnOtherStacksAreGivenUp: unless walks go there. What is asked for again lasts twice as long; what a single
// look has asked for lasts.
func TestPlacesOnOtherStacksAreGivenUp(t *testing.T) {
	const at = 0x700000
	k := NewThread(1, 1, nil).Walks()
	for _, lasts := range []int{othersLeast, 2 * othersLeast, 4 * othersLeast} {
		k.lacksOther(at)
		for i := range 3 * lasts {
			k.usesOthers(i%lasts == lasts-1)
		}
		for range lasts {
			if k.needs.Others[0].At != at {
				t.Fatalf("it is gone before %d walks", lasts)
			}
			k.usesOthers(false)
		}
		if k.needs.Others[0].At != 0 {
			t.Fatalf("it is still there after %d walks", lasts)
		}
	}
	for addr, want := range map[frames.Addr]bool{
		at - otherBelow - 8: false, at - otherBelow: true, at: true, at + otherBytes - 8: true, at + otherBytes: false, 0: false,
	} {
		k.lacksOther(at)
		if got := k.isOther(addr); got != want {
			t.Errorf("%#x: %v", addr, got)
		}
	}
	k = NewThread(1, 1, nil).Walks()
	k.CopyOther(at)
	k.CopyOtherDeep(at, 1<<20)
	for range 2 * othersMost {
		k.usesOthers(false)
	}
	if k.needs.Others[0].bytes() != 1<<20 {
		t.Errorf("%+v", k.needs.Others)
	}
}
