// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync"
	"testing"
)

func TestHintsArriveWholeAndTheNewestLast(t *testing.T) {
	const n = 200_000
	th := NewThread(1, 1, nil)
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range uint64(n) {
			th.feedback.reads.Retries = uint32(i + 1)
			hints := &th.feedback.copies.hints
			hints.size = stackSize{bytes: int(i + 1), root: i + 1}
			hints.stackPlaces[maxOtherStacks-1].at = i + 1
			th.feedback.handOver()
		}
	})
	last := uint64(0)
	for last < n {
		th.takeHints()
		got := th.hints
		if got.stack.size.root == last {
			continue
		}
		if got.stack.size.root < last || uint64(got.stack.size.bytes) != got.stack.size.root ||
			uint64(got.reads.Retries) != got.stack.size.root ||
			got.stack.stackPlaces[maxOtherStacks-1].at != got.stack.size.root {
			t.Fatalf("after %d: %+v", last, got)
		}
		last = got.stack.size.root
	}
	writing.Wait()
	if th.takeHints(); th.hints.stack.size.root != n {
		t.Errorf("the newest are lost: %+v", th.hints)
	}
}

func TestUnchangedHintsAreHandedOverWithoutAllocation(t *testing.T) {
	th := NewThread(1, 1, nil)
	if n := testing.AllocsPerRun(100, func() {
		th.feedback.handOver()
		th.takeHints()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestIncompleteStackIsReadAgainOnce(t *testing.T) {
	th := NewThread(1, 1, nil)
	var o Observer
	if o.takeHints(th) {
		t.Error("before any walk")
	}
	th.feedback.AddOtherStack(0x1000)
	th.feedback.SetCopySize(1 << 20)
	if !o.takeHints(th) || o.takeHints(th) {
		t.Error("not read again, or more than once")
	}
	if n := th.hints; n.stack.size.bytes != 1<<20 || n.stack.stackPlaces[0].at != 0x1000 {
		t.Errorf("%+v", n)
	}
}
