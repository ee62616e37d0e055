// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync"
	"testing"

	"prywalk/internal/watch/observe/copying"
)

func TestHintsArriveWholeAndTheNewestLast(t *testing.T) {
	const n = 200_000
	var buffer hintBuffer
	buffer.init(CopyHints{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range uint64(n) {
			hints := CopyHints{readHints: readHints{Retries: uint32(i + 1)}}
			hints.StackSize = copying.StackSize{Bytes: int(i + 1), Root: i + 1}
			hints.StackPlaces[copying.MaxOtherStacks-1].At = i + 1
			buffer.put(hints)
		}
	})
	last := uint64(0)
	for last < n {
		if !buffer.take() {
			continue
		}
		got := *buffer.get()
		if got.Root <= last || uint64(got.Bytes) != got.Root || uint64(got.Retries) != got.Root ||
			got.StackPlaces[copying.MaxOtherStacks-1].At != got.Root {
			t.Fatalf("after %d: %+v", last, got)
		}
		last = got.Root
	}
	writing.Wait()
	if buffer.take() || buffer.get().Root != n {
		t.Errorf("taken twice, or lost: %+v", buffer.get())
	}
}

func TestHintsAreHandedOverWithoutAllocation(t *testing.T) {
	th := NewThread(1, 1, nil)
	if n := testing.AllocsPerRun(100, func() {
		th.feedback.handOver()
		th.feedback.handedOver.take()
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
	if n := th.hints(); n.Bytes != 1<<20 || n.StackPlaces[0].At != 0x1000 {
		t.Errorf("%+v", n)
	}
}
