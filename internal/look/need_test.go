package look

import "testing"

// TestCopiesOfOtherStacksGrowWhereTheyEnd: one that is deep beyond a change of stacks does not push out what was asked
// for elsewhere, and keeps what it has.
func TestCopiesOfOtherStacksGrowWhereTheyEnd(t *testing.T) {
	var th Thread
	const one, two = 0x700000, 0x100000
	th.Also(one)
	th.AlsoDeep(two, 1<<20)
	if !th.again.Load() || th.also.size(0) != alsoBytes || th.also.size(1) != 1<<20 {
		t.Fatalf("again %v, %d and %d bytes", th.again.Load(), th.also.size(0), th.also.size(1))
	}
	th.AlsoDeep(two+1<<20, 4<<20)
	th.AlsoDeep(one+1000, deepCopy)
	if th.also.size(0) != deepCopy || th.also.size(1) != 5<<20 || th.also.at[2].Load() != 0 {
		t.Errorf("%d and %d bytes, a third at %#x", th.also.size(0), th.also.size(1), th.also.at[2].Load())
	}
}
