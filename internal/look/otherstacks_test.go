package look

import "testing"

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
