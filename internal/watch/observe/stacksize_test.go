// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/frames"
)

func TestSamplesThatAreWalkedTogetherAskForTheSame(t *testing.T) {
	k := newCopyLearner()
	for range 4 {
		k.hints.size.setSize(minWholeCopy, minWholeCopy, true)
	}
	if got := k.hints.size.bytes; got != 4*minWholeCopy {
		t.Errorf("%d bytes after four copies of %d that were too short", got, minWholeCopy)
	}
	k.hints.size.setSize(4*minWholeCopy, 4*minWholeCopy, true)
	if got := k.hints.size.bytes; got != 16*minWholeCopy {
		t.Errorf("%d bytes after one of four times as many", got)
	}
}

func TestACopyAfterOneThatWasTooShortGoesToTheEnd(t *testing.T) {
	const from, root = 1 << 30, 1<<30 + 700<<10
	s := &RawSample{Mem: frames.Snapshot{Stack: frames.Region{Addr: from}, StackEnd: from + maxUsualStack}}
	k := newCopyLearner()
	if got := k.hints.size.toRoot(s); got != 0 {
		t.Errorf("%d bytes to an unknown end", got)
	}
	if k.hints.size.root = root; k.hints.size.toRoot(s) != root-from {
		t.Errorf("%d bytes to where the stack has ended", k.hints.size.toRoot(s))
	}
	if k.hints.size.root = from + maxCopyToEnd + 8; k.hints.size.toRoot(s) != 0 {
		t.Errorf("%d bytes to an end that is far", k.hints.size.toRoot(s))
	}
}

func TestSamplesWithFurtherRegionsCopyNoMoreInAll(t *testing.T) {
	for _, e := range []struct{ bytes, regions, used, want int }{
		{minWholeCopy, 0, 1000, minWholeCopy},
		{minWholeCopy, 20 << 10, 1000, minWholeCopy - 20<<10 - copyMargin},
		{minWholeCopy, 60 << 10, 1000, minInnermostCopy},
		{minWholeCopy, 60 << 10, 20 << 10, 40<<10 + copyMargin},
		{minWholeCopy, 60 << 10, 60 << 10, minWholeCopy},
		{minWholeCopy + 1, 60 << 10, 1000, minWholeCopy + 1},
	} {
		n := stackSize{bytes: e.bytes, used: e.used}
		if got := n.toReserve(e.regions); got != e.want {
			t.Errorf("%+v: %d bytes", e, got)
		}
	}
}

// The example of copylearner.go.
func TestTheNextCopyIsAsTheExampleSays(t *testing.T) {
	const kib = 1 << 10
	k := newCopyLearner()
	for i, c := range []struct{ depth, copied, next int }{
		{200, 64, 256}, {200, 256, 255}, {100, 255, 252}, {300, 252, 1011},
	} {
		n, complete := k.hints.size.bytes, c.copied > c.depth
		if n/kib != c.copied {
			t.Fatalf("%d: %d KiB copied, want %d", i, n/kib, c.copied)
		}
		again := k.hints.size.setSize(c.depth*kib, n, !complete)
		if again == complete || k.hints.size.bytes/kib != c.next {
			t.Errorf("%d: read again %t, next %d bytes, want %d KiB", i, again, k.hints.size.bytes, c.next)
		}
	}
}
