// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"slices"
	"testing"

	"prywalk/internal/sample"
)

func TestEqualWeightsAreDistributedInTheSameOrder(t *testing.T) {
	once := func() (order []Place) {
		var p weightedSamples
		for _, s := range []Place{
			{State: sample.Running}, {State: sample.Running, ChildState: ChildInExec}, {State: sample.Running, Labels: "a=1"},
			{State: sample.Running, Labels: "a=2"}, {State: sample.Running, WalkEnd: 2}, {State: sample.Running, WalkEnd: 3},
		} {
			p.addWeighted(s, 1e9, 10)
		}
		p.distribute(6, 0, func(k weightKey, _ int64) { order = append(order, k.place) })
		return order
	}
	first := once()
	for range 100 {
		if again := once(); !slices.Equal(first, again) {
			t.Fatalf("two orders: %+v, then %+v", first, again)
		}
	}
}

func TestRaisedWeightsAreSpreadInFullAfterWeightsWereTaken(t *testing.T) {
	for _, before := range []int{0, 1} {
		var into, from weightedSamples
		for range before {
			into.addSample(Place{Stack: 1}, 0, 10)
		}
		for range 10 {
			from.addSample(Place{Stack: 2}, 0, 10)
		}
		from.takeTotal()
		for range 20 {
			from.addSample(Place{Stack: 3}, 0, 10)
		}
		into.merge(&from)
		had := into.weightSum
		into.raiseWeights(2100)
		if got := into.weightSum - had; got < 2099 || got > 2100 { // rounded down
			t.Errorf("after %d samples %d of 2100 ns are spread", before, got)
		}
	}
}
