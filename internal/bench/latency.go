// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math/rand/v2"

	"prywalk/internal/bench/load"
)

// waitSamples is the number of bootstrap samples behind the interval of a quantile of waits:
// fewer than for a ratio, as each merges two histograms for each pair.
const waitSamples = 1000

// pairWaits are the waits of the two windows of one pair.
type pairWaits struct{ without, with load.Histogram }

// change gives how many times as long the q-quantile of the waits is with sampling, and the 95 % interval of that
// by the bootstrap over the pairs. Waits within a window depend on each other, windows hardly do.
func change(pairs []*pairWaits, q float64) *Change {
	all := func(pick func() *pairWaits) (float64, bool) {
		var without, with load.Histogram
		for range pairs {
			p := pick()
			without.Add(&p.without)
			with.Add(&p.with)
		}
		before := without.Quantile(q)
		return with.Quantile(q) / max(before, 1), before > 0 && with.N() > 0
	}
	next := -1
	ratio, ok := all(func() *pairWaits { next++; return pairs[next] })
	if !ok {
		return nil
	}
	rng := rand.New(rand.NewPCG(5, 6))
	ratios := make([]float64, 0, waitSamples)
	for range waitSamples {
		if x, ok := all(func() *pairWaits { return pairs[rng.IntN(len(pairs))] }); ok {
			ratios = append(ratios, x)
		}
	}
	c := &Change{Ratio: ratio}
	c.Low, c.High = middle95(ratios)
	return c
}

// verdict says whether the waits are measurably longer.
func (c *Change) verdict() string {
	switch {
	case c.Low > 1:
		return "longer"
	case c.High < 1:
		return "shorter"
	}
	return "not changed"
}
