// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"prywalk/internal/base/sample"
)

// distribution of unobserved time: as far as it is certain, or of all that is left.
type distribution bool

const (
	soFar distribution = false // more time and samples can follow
	atEnd distribution = true
)

// weightedSamples divides CPU time, ns, among samples by weight. The zero value is empty.
type weightedSamples struct {
	byPlace     map[weightKey]weighted
	weightSum   int64 // ns
	distributed int64 // ns
	sampleCount int64

	bucketSeconds int64 // a power of two; 0 counts as one
	mergeAt       int   // number of keys from which neighbours in time are merged; 0 counts as maxWeights
}

type weighted struct{ ns, count int64 }

type weightKey struct {
	place  Place
	second int64 // last one of the period, CLOCK_MONOTONIC
}

const (
	maxWeights       = 1 << 12
	maxBucketSeconds = 1 << 18 // three days
)

func (p *weightedSamples) keyAt(where Place, second int64) weightKey {
	w := max(p.bucketSeconds, 1)
	return weightKey{where, second - second%w + w - 1}
}

// addSample adds a sample of weight ns at CLOCK_MONOTONIC at; ns < 0 counts as 0.
func (p *weightedSamples) addSample(where Place, at, ns int64) {
	if p.byPlace == nil {
		p.byPlace = map[weightKey]weighted{}
	}
	ns = max(ns, 0)
	p.add(p.keyAt(where, at/1e9), ns, 1)
	p.weightSum += ns
	p.sampleCount++
	p.mergeMany()
}

func (p *weightedSamples) add(k weightKey, ns, count int64) {
	w := p.byPlace[k]
	p.byPlace[k] = weighted{w.ns + ns, w.count + count}
}

func (p *weightedSamples) addWeighted(where Place, at, ns int64) {
	if ns > 0 {
		p.addSample(where, at, ns)
	}
}

func (p *weightedSamples) mergeMany() {
	p.mergeAt = max(p.mergeAt, maxWeights)
	if len(p.byPlace) < p.mergeAt {
		return
	}
	stacks := map[Place]struct{}{}
	for k := range p.byPlace {
		stacks[k.place] = struct{}{}
	}
	if len(stacks) > p.mergeAt/2 { // many stacks, not many seconds
		p.mergeAt *= 2
		return
	}
	for len(p.byPlace) > p.mergeAt/2 && p.bucketSeconds < maxBucketSeconds {
		p.widen(2 * max(p.bucketSeconds, 1))
	}
}

func (p *weightedSamples) widen(width int64) {
	p.bucketSeconds = width
	narrow := p.byPlace
	p.byPlace = make(map[weightKey]weighted, len(narrow)/2)
	for k, w := range narrow {
		p.add(p.keyAt(k.place, k.second), w.ns, w.count)
	}
}

// raiseWeights adds more ns to the weights, the same to each sample.
func (p *weightedSamples) raiseWeights(more int64) {
	if p.sampleCount == 0 || more <= 0 {
		return
	}
	for k, w := range p.byPlace {
		share := sample.Portion(more, w.count, p.sampleCount)
		p.add(k, share, 0)
		p.weightSum += share
	}
}

// distribute adds extraWeight to the weights, moves up to total of them to emit, and returns the rest of total.
func (p *weightedSamples) distribute(total, extraWeight int64, emit func(weightKey, int64)) (left int64) {
	p.raiseWeights(extraWeight)
	if total <= 0 || p.weightSum <= 0 {
		return total
	}
	if total >= p.weightSum {
		left, total = total-p.weightSum, p.weightSum
	}
	shares := divider{total: total, weightSum: p.weightSum}
	for _, k := range p.inOrder() {
		if share := shares.next(p.byPlace[k].ns); share > 0 {
			p.add(k, -share, 0)
			emit(k, share)
		}
	}
	p.weightSum, p.distributed = p.weightSum-shares.given, p.distributed+shares.given
	return left
}

func (p *weightedSamples) inOrder() []weightKey {
	return slices.SortedFunc(maps.Keys(p.byPlace), func(a, b weightKey) int {
		order := cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.place.Stack, b.place.Stack),
			cmp.Compare(a.place.Program, b.place.Program))
		if order == 0 {
			order = a.place.compare(&b.place)
		}
		return order
	})
}

// maxStandardErrors is how far samples' time and weights may differ by chance.
const maxStandardErrors = 2

func (p *weightedSamples) samplingError() int64 {
	if p.sampleCount == 0 {
		return 0
	}
	return int64(maxStandardErrors * float64(p.weightSum+p.distributed) / math.Sqrt(float64(p.sampleCount)))
}

// merge moves the samples of from.
func (p *weightedSamples) merge(from *weightedSamples) {
	if p.byPlace == nil {
		*p, *from = *from, weightedSamples{}
		return
	}
	if from.bucketSeconds > p.bucketSeconds {
		p.widen(from.bucketSeconds)
	}
	for k, w := range from.byPlace {
		p.add(p.keyAt(k.place, k.second), w.ns, w.count)
	}
	p.sampleCount, p.weightSum, p.distributed = p.sampleCount+from.sampleCount, p.weightSum+from.weightSum,
		p.distributed+from.distributed
	*from = weightedSamples{}
	p.mergeMany()
}

func (p *weightedSamples) withProgram(program string) weightedSamples {
	out := *p
	out.byPlace = map[weightKey]weighted{}
	for k, w := range p.byPlace {
		k.place.Program = cmp.Or(k.place.Program, program)
		out.add(k, w.ns, w.count)
	}
	return out
}
