// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"testing"

	"prywalk/frames"
)

func TestCopyEndThatAWalkPassedIsNotSetAgain(t *testing.T) {
	k := NewLearner()
	n := &k.Hints
	k.size.setCopyEnd(1 << 20)
	k.size.setSize(1000, MinWhole, false, false)
	if n.CopyEnd != 1<<20+Margin {
		t.Errorf("copy end %#x", n.CopyEnd)
	}
	if again := k.size.setSize(2000, MinWhole, true, true); !again || n.CopyEnd != 0 || n.Bytes != MinWhole {
		t.Errorf("%+v", n)
	}
	k.size.setCopyEnd(2 << 20)
	if n.CopyEnd != 0 {
		t.Error("set again, though the stack goes on there")
	}
	k.size.setSize(2000, MinWhole, true, true)
	if n.Bytes != 4*MinWhole {
		t.Errorf("%d bytes after a copy that was too short", n.Bytes)
	}
}

func TestSamplesThatAreWalkedTogetherAskForTheSame(t *testing.T) {
	k := NewLearner()
	for range 4 {
		k.size.setSize(MinWhole, MinWhole, true, false)
	}
	if got := k.Bytes; got != 4*MinWhole {
		t.Errorf("%d bytes after four copies of %d that were too short", got, MinWhole)
	}
	k.size.setSize(4*MinWhole, 4*MinWhole, true, false)
	if got := k.Bytes; got != 16*MinWhole {
		t.Errorf("%d bytes after one of four times as many", got)
	}
}

func TestCopyEndIsKeptIfTheCopyDidNotGoUpToIt(t *testing.T) {
	k := NewLearner()
	k.size.setCopyEnd(1 << 20)
	k.size.setSize(2000, MinWhole, true, false)
	if n := k.Hints; n.CopyEnd != 1<<20+Margin || n.Bytes != 4*MinWhole {
		t.Errorf("%+v", n)
	}
}

func TestACopyAfterOneThatWasTooShortGoesToTheEnd(t *testing.T) {
	const from, root, end = 1 << 30, 1<<30 + 700<<10, 1<<30 + 710<<10
	s := &WalkedCopy{Stack: frames.Region{Addr: from}, StackEnd: end}
	k := NewLearner()
	if got := k.size.sizeToEnd(s); got != end-from {
		t.Errorf("%d bytes to the end of the mapping", got)
	}
	if k.Root = root; k.size.sizeToEnd(s) != root-from {
		t.Errorf("%d bytes to where the stack has ended", k.size.sizeToEnd(s))
	}
	if k.Changing = true; k.size.sizeToEnd(s) != end-from {
		t.Errorf("%d bytes where that was another stack", k.size.sizeToEnd(s))
	}
	k.Root, s.StackEnd = 0, from+MaxUsual
	if got := k.size.sizeToEnd(s); got != 0 {
		t.Errorf("%d bytes to an end that is far", got)
	}
}

func TestCopyEndIsSetAgainByACompleteWalkThatEndsThere(t *testing.T) {
	k := NewLearner()
	n := &k.Hints
	for i := range maxPassed + 1 {
		k.size.setCopyEnd(1 << 20)
		if n.CopyEnd != 1<<20+Margin {
			t.Fatalf("copy end %#x after it was passed %d times", n.CopyEnd, i)
		}
		k.size.setSize(2000, MinWhole, true, true)
		if n.CopyEnd != 0 {
			t.Fatalf("copy end %#x after a copy that ended there and was too short", n.CopyEnd)
		}
	}
	if k.size.setCopyEnd(1 << 20); n.CopyEnd != 0 {
		t.Errorf("copy end %#x after it was passed %d times", n.CopyEnd, maxPassed+1)
	}
}

func TestSamplesWithFurtherRegionsCopyNoMoreInAll(t *testing.T) {
	for _, e := range []struct{ bytes, regions, used, want int }{
		{MinWhole, 0, 1000, MinWhole},
		{MinWhole, 20 << 10, 1000, MinWhole - 20<<10 - Margin},
		{MinWhole, 60 << 10, 1000, MinInnermost},
		{MinWhole, 60 << 10, 20 << 10, 40<<10 + Margin},
		{MinWhole, 60 << 10, 60 << 10, MinWhole},
		{MinWhole + 1, 60 << 10, 1000, MinWhole + 1},
	} {
		n := StackSize{Bytes: e.bytes, Used: e.used}
		if got := n.ToReserve(e.regions); got != e.want {
			t.Errorf("%+v: %d bytes", e, got)
		}
	}
}

// The example of doc.go.
func TestTheNextCopyIsAsTheExampleSays(t *testing.T) {
	const kib, root = 1 << 10, 1 << 30
	k := NewLearner()
	copied := func(depth int) int {
		n := k.Bytes
		if k.CopyEnd != 0 {
			n = min(n, int(k.CopyEnd-(root-uint64(depth))))
		}
		return n
	}
	for i, c := range []struct{ depth, copied, next int }{
		{200, 64, 256}, {200, 256, 249}, {100, 102, 230}, {300, 230, 923},
	} {
		n, complete := copied(c.depth*kib), c.copied > c.depth
		if n/kib != c.copied {
			t.Fatalf("%d: %d KiB copied, want %d", i, n/kib, c.copied)
		}
		if complete {
			k.size.setCopyEnd(root)
		}
		again := k.size.setSize(c.depth*kib, n, !complete, false)
		if again == complete || k.Bytes/kib != c.next {
			t.Errorf("%d: read again %t, next %d bytes, want %d KiB", i, again, k.Bytes, c.next)
		}
	}
	if n := copied(300 * kib); n/kib != 302 {
		t.Errorf("%d bytes up to the end", n)
	}
}
