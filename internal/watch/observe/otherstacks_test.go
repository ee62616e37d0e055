// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"prywalk/internal/walk/managed"
)

func TestTheStackThatAThreadBeganOnIsCopiedAtFirst(t *testing.T) {
	const end = 0x7ffd00000000
	th := NewThread(1, 1, nil)
	if th.SetFirstStackEnd(0); th.hints.stack.stackPlaces[0].at != 0 {
		t.Error("no stack is known")
	}
	th.SetFirstStackEnd(end)
	if p := th.hints.stack.stackPlaces[0]; !p.firstStack || p.at >= end || p.at+uint64(p.copyBytes()) < end {
		t.Errorf("%+v is copied of a stack that ends at %#x", p, uint64(end))
	}
	at := th.hints.stack.stackPlaces[0].at
	for sp, want := range map[uint64]bool{
		end - 8: true, at: true, at - 1<<20: true, end - maxUsualStack: true,
		end - maxUsualStack - 8: false, end + 8: false, 0x1000: false,
	} {
		if onFirstStack(at, sp) != want {
			t.Errorf("a stack pointer of %#x: on the first stack %t", sp, !want)
		}
	}
}

func TestAfterAnExecNothingIsCopiedOfTheFormerProgramsStacks(t *testing.T) {
	const before, after = 0x7ffd00000000, 0x7ffe00000000
	th := NewThread(1, 1, nil)
	th.SetFirstStackEnd(before)
	th.feedback.copies.hints.size.root = before - 8
	th.feedback.AddOtherStack(1 << 30)
	th.feedback.SetPlan(&managed.Plan{}, 1<<20)
	th.takeHints()
	old := *th.hints
	th.feedback.DiscardFormerProgram(64<<10, after)
	th.takeHints()
	fresh := NewThread(1, 1, nil)
	fresh.SetFirstCopy(64 << 10)
	fresh.SetFirstStackEnd(after)
	want := *fresh.hints
	want.reads.Retries = old.reads.Retries + 1
	if got := *th.hints; got != want {
		t.Errorf("hints %+v, want those of a new thread: %+v", got, want)
	}
}
