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

func TestSamplesAssumedToSkidAreNotProvenLater(t *testing.T) {
	var p endedThreadTime
	add := func(to *weightedSamples, n int) {
		for range n {
			to.addSample(Place{Stack: 1}, 0, 10)
		}
	}
	distribute := func() { p.distribute(0, soFar, func(weightKey, int64) {}) }
	add(&p.proven, 20)
	add(&p.unproven, 10)
	p.skidded.count = 20
	distribute() // many of 30 skid
	add(&p.unproven, 100)
	distribute() // few of 130 skid
	if p.assumedSkids != 10 || p.assumedProven != 100 || p.proven.sampleCount != 120 {
		t.Fatalf("%d samples count as skids, %d as proven, %d are proven in all; want 10, 100 and 120",
			p.assumedSkids, p.assumedProven, p.proven.sampleCount)
	}
	if p.skidded.count += 100; !p.hasManySkids() {
		t.Error("20 proven samples are too few, want enough")
	}
	had := p.proven.weightSum
	if p.proven.raiseWeights(1200); p.proven.weightSum != had+1200 {
		t.Errorf("weights grew by %d ns, want 1200", p.proven.weightSum-had)
	}
}
