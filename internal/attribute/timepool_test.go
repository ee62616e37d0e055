// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"slices"
	"testing"

	"prywalk/internal/sample"
)

// The weights differ in fields that are not the first keys of the order.
func TestEqualWeightsAreDistributedInTheSameOrder(t *testing.T) {
	once := func() (order []Place) {
		var p timePool
		for _, s := range []Place{
			{State: sample.Running}, {State: sample.Running, Found: FoundInExec}, {State: sample.Running, Labels: "a=1"},
			{State: sample.Running, Labels: "a=2"}, {State: sample.Running, Stop: 2}, {State: sample.Running, Stop: 3},
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
