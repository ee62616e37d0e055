// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"
	"math"
	"slices"

	"prywalk/internal/sample"
)

// timePool divides CPU time among samples by weight (doc.go, ns). The zero value is empty.
type timePool struct {
	weights     map[weightKey]int64
	counts      map[weightKey]int64 // number, also of samples without a weight
	total       int64               // ns
	distributed int64               // ns
	sampleCount int64

	keyWidth int64 // s, a power of two; 0: one
	mergeAt  int   // number of keys from which neighbours in time are merged; 0: mostWeights
}

// weightKey is a place in width seconds.
type weightKey struct {
	place  Place
	second int64 // the last one, CLOCK_MONOTONIC
}

const (
	mostWeights = 1 << 12
	maxKeyWidth = 1 << 18 // s: three days
)

func (p *timePool) keyAt(where Place, second int64) weightKey {
	w := max(p.keyWidth, 1)
	return weightKey{where, second - second%w + w - 1}
}

// addSample adds a sample at CLOCK_MONOTONIC at, ns, with a weight of ns; ≤ 0: none.
func (p *timePool) addSample(where Place, at, ns int64) {
	if p.weights == nil {
		p.weights, p.counts = map[weightKey]int64{}, map[weightKey]int64{}
	}
	k := p.keyAt(where, at/1e9)
	if ns > 0 {
		p.weights[k] += ns
		p.total += ns
	}
	p.counts[k]++
	p.sampleCount++
	p.mergeMany()
}

func (p *timePool) addWeighted(where Place, at, ns int64) {
	if ns > 0 {
		p.addSample(where, at, ns)
	}
}

func (p *timePool) mergeMany() {
	p.mergeAt = max(p.mergeAt, mostWeights)
	if len(p.counts) < p.mergeAt {
		return
	}
	stacks := map[Place]struct{}{}
	for k := range p.counts {
		stacks[k.place] = struct{}{}
	}
	if len(stacks) > p.mergeAt/2 { // many stacks, not many seconds
		p.mergeAt *= 2
		return
	}
	for len(p.counts) > p.mergeAt/2 && p.keyWidth < maxKeyWidth {
		p.widen(2 * max(p.keyWidth, 1))
	}
}

func (p *timePool) widen(width int64) {
	p.keyWidth = width
	weights := make(map[weightKey]int64, len(p.weights)/2)
	samples := make(map[weightKey]int64, len(p.counts)/2)
	for k, v := range p.weights {
		weights[p.keyAt(k.place, k.second)] += v
	}
	for k, v := range p.counts {
		samples[p.keyAt(k.place, k.second)] += v
	}
	p.weights, p.counts = weights, samples
}

// raiseWeights adds more ns to the weights, the same to each sample.
func (p *timePool) raiseWeights(more int64) {
	if p.sampleCount == 0 || more <= 0 {
		return
	}
	for k, n := range p.counts {
		share := sample.Portion(more, n, p.sampleCount)
		p.weights[k] += share
		p.total += share
	}
}

// distribute adds slack ns to the weights, moves up to total ns of them to emit, and returns the rest of total.
func (p *timePool) distribute(total, slack int64, emit func(weightKey, int64)) (left int64) {
	p.divideMissed()
	p.raiseWeights(slack)
	if total <= 0 || p.total <= 0 {
		return total
	}
	if total >= p.total {
		left, total = total-p.total, p.total
	}
	var passed, given int64
	for _, k := range inOrder(p.weights) {
		passed += p.weights[k]
		if share := sample.Portion(total, passed, p.total) - given; share > 0 {
			given += share
			p.weights[k] -= share
			if p.weights[k] == 0 {
				delete(p.weights, k)
			}
			emit(k, share)
		}
	}
	p.total, p.distributed = p.total-given, p.distributed+given
	return left
}

// inOrder returns the keys in an order of the content only.
func inOrder(weights map[weightKey]int64) []weightKey {
	order := make([]weightKey, 0, len(weights))
	for k := range weights {
		order = append(order, k)
	}
	slices.SortFunc(order, func(a, b weightKey) int {
		order := cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.place.Stack, b.place.Stack),
			cmp.Compare(a.place.Program, b.place.Program), cmp.Compare(weights[a], weights[b]))
		if order == 0 {
			order = a.place.compare(&b.place)
		}
		return order
	})
	return order
}

// takeTotal removes the weights, not the samples.
func (p *timePool) takeTotal() int64 {
	ns := p.total
	*p = timePool{sampleCount: p.sampleCount}
	return ns
}

// maxStandardErrors is how far samples' time and weights may differ by chance, in standard errors.
const maxStandardErrors = 2

func (p *timePool) samplingError() int64 {
	if p.sampleCount == 0 {
		return 0
	}
	return int64(maxStandardErrors * float64(p.total+p.distributed) / math.Sqrt(float64(p.sampleCount)))
}

func (p *timePool) merge(from *timePool) {
	from.sampleCount = 0 // without those of weights that were taken
	for _, n := range from.counts {
		from.sampleCount += n
	}
	if p.weights == nil {
		*p, *from = *from, timePool{}
		return
	}
	if from.keyWidth > p.keyWidth {
		p.widen(from.keyWidth)
	}
	for k, ns := range from.weights {
		p.weights[p.keyAt(k.place, k.second)] += ns
	}
	for k, n := range from.counts {
		p.counts[p.keyAt(k.place, k.second)] += n
	}
	p.sampleCount, p.total, p.distributed = p.sampleCount+from.sampleCount, p.total+from.total,
		p.distributed+from.distributed
	*from = timePool{}
	p.mergeMany()
}

// withProgram returns a copy; places without a program get this one.
func (p *timePool) withProgram(program string) timePool {
	out := *p
	out.weights, out.counts = map[weightKey]int64{}, map[weightKey]int64{}
	named := func(k weightKey) weightKey {
		k.place.Program = cmp.Or(k.place.Program, program)
		return k
	}
	for k, ns := range p.weights {
		out.weights[named(k)] += ns
	}
	for k, n := range p.counts {
		out.counts[named(k)] += n
	}
	return out
}

func (p *timePool) byProgram() map[string]*timePool {
	parts := map[string]*timePool{}
	partOf := func(program string) *timePool {
		part := parts[program]
		if part == nil {
			part = &timePool{weights: map[weightKey]int64{}, counts: map[weightKey]int64{}, keyWidth: p.keyWidth,
				mergeAt: p.mergeAt}
			parts[program] = part
		}
		return part
	}
	for k, ns := range p.weights {
		part := partOf(k.place.Program)
		part.weights[k] = ns
		part.total += ns
	}
	for k, n := range p.counts {
		part := partOf(k.place.Program)
		part.counts[k] = n
		part.sampleCount += n
	}
	for _, part := range parts {
		if p.sampleCount > 0 {
			part.distributed = sample.Portion(p.distributed, part.sampleCount, p.sampleCount)
		}
	}
	*p = timePool{}
	return parts
}
