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

func TestManySkidsNeedProvenSamples(t *testing.T) {
	p := endedThreadTime{skidded: skidded{count: 20}}
	add := func(n int, unproven bool) {
		for range n {
			p.addWeight(&sampleWeight{place: Place{Stack: 1}, weight: 10, unproven: unproven})
		}
	}
	add(minProven-1, false)
	if add(10, true); p.hasManySkids() {
		t.Error("15 proven samples are enough, want too few")
	}
	if add(1, false); !p.hasManySkids() {
		t.Error("20 of 30 samples without a proven place skid, want many")
	}
	if add(100, true); p.hasManySkids() {
		t.Error("20 of 130 samples without a proven place skid, want few")
	}
	if had := p.samples.weightSum; had != 10*(minProven+110) {
		t.Errorf("the weights are %d ns", had)
	}
}
