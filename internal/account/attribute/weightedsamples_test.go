// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"slices"
	"testing"

	"prywalk/internal/base/sample"
)

func TestEqualWeightsAreDistributedInTheSameOrder(t *testing.T) {
	once := func() (order []Place) {
		var p weightedSamples
		for _, s := range []Place{
			{State: sample.Running}, {State: sample.Running, ChildState: ChildProgramOnly},
			{State: sample.Running, Labels: "a=1"},
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
