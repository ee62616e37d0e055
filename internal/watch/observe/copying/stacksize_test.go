// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"testing"

	"prywalk/frames"
)

func TestSamplesThatAreWalkedTogetherAskForTheSame(t *testing.T) {
	k := NewLearner()
	for range 4 {
		k.size.setSize(MinWhole, MinWhole, true)
	}
	if got := k.Bytes; got != 4*MinWhole {
		t.Errorf("%d bytes after four copies of %d that were too short", got, MinWhole)
	}
	k.size.setSize(4*MinWhole, 4*MinWhole, true)
	if got := k.Bytes; got != 16*MinWhole {
		t.Errorf("%d bytes after one of four times as many", got)
	}
}

func TestACopyAfterOneThatWasTooShortGoesToTheEnd(t *testing.T) {
	const from, root = 1 << 30, 1<<30 + 700<<10
	s := &WalkedCopy{Stack: frames.Region{Addr: from}, StackEnd: from + MaxUsual}
	k := NewLearner()
	if got := k.size.sizeToRoot(s); got != 0 {
		t.Errorf("%d bytes to an unknown end", got)
	}
	if k.Root = root; k.size.sizeToRoot(s) != root-from {
		t.Errorf("%d bytes to where the stack has ended", k.size.sizeToRoot(s))
	}
	if k.Root = from + MaxToEnd + 8; k.size.sizeToRoot(s) != 0 {
		t.Errorf("%d bytes to an end that is far", k.size.sizeToRoot(s))
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
	const kib = 1 << 10
	k := NewLearner()
	for i, c := range []struct{ depth, copied, next int }{
		{200, 64, 256}, {200, 256, 255}, {100, 255, 252}, {300, 252, 1011},
	} {
		n, complete := k.Bytes, c.copied > c.depth
		if n/kib != c.copied {
			t.Fatalf("%d: %d KiB copied, want %d", i, n/kib, c.copied)
		}
		again := k.size.setSize(c.depth*kib, n, !complete)
		if again == complete || k.Bytes/kib != c.next {
			t.Errorf("%d: read again %t, next %d bytes, want %d KiB", i, again, k.Bytes, c.next)
		}
	}
}
