// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/watch/observe"
)

// Time with a stack is counted by the end of its walk, other time by the reason why it has none.
func TestTimeIsCountedByItsStackOrTheLackOfOne(t *testing.T) {
	var got totals
	for i, leaf := range []string{"", attribute.RanBetweenTicks, attribute.BlockedBetweenTicks, attribute.NotObserved,
		attribute.ExitedUnseen, attribute.InKernel, attribute.ShortLivedChildren} {
		got.addSpan(&attribute.Span{Leaf: leaf, Samples: 1, CPU: 1 << i,
			Place: attribute.Place{WalkEnd: frames.StopDepth}})
	}
	got.addSpan(&attribute.Span{Samples: 10, CPU: 1 << 7, Place: attribute.Place{WalkEnd: frames.StopRoot}})
	got.addSpan(&attribute.Span{Leaf: attribute.ShortLivedChildren, CPU: 1 << 8, Place: attribute.Place{Program: "cc"}})
	want := totals{samples: 17, complete: 10, profiledCPU: 1<<9 - 1, unobserved: 1<<1 + 1<<3, exitedUnseen: 1 << 4,
		inKernel: 1 << 5, shortLived: 1<<6 + 1<<8, ofProgram: 1 << 8}
	want.incomplete[frames.StopDepth] = 1<<0 + 1<<1 + 1<<2
	want.incomplete[frames.StopRoot] = 1 << 7
	want.incompleteBetween[frames.StopDepth] = 1 << 1
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOnlyCompleteStacksAreCountedByHowTheyWereRead(t *testing.T) {
	var got totals
	got.addStack(frames.StopRoot, observe.ByStop)
	got.addStack(frames.StopGuessedRoot, observe.ByPassiveRead)
	got.addStack(frames.StopDepth, observe.ByStop)
	want := totals{stacks: 3}
	for _, end := range []frames.StopReason{frames.StopRoot, frames.StopGuessedRoot, frames.StopDepth} {
		want.walkEnds[end] = 1
	}
	want.completeByHow[observe.ByStop], want.completeByHow[observe.ByPassiveRead] = 1, 1
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
