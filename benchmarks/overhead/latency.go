// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"math/rand/v2"

	"prywalk/benchmarks/bench"
	"prywalk/benchmarks/overhead/load"
	"prywalk/benchmarks/stats"
)

const waitSamples = 1000

type pairWaits struct{ without, with load.Histogram }

func latency(waits []bench.Waited) *bench.Latency {
	var pairs []*pairWaits
	var without, with load.Histogram
	for _, w := range waits {
		p := &pairWaits{}
		if !window(w.Without, &p.without) || !window(w.With, &p.with) {
			continue
		}
		pairs = append(pairs, p)
		without.Add(&p.without)
		with.Add(&p.with)
	}
	if without.N() == 0 || with.N() == 0 {
		return nil
	}
	return &bench.Latency{Without: waitsOf(&without), With: waitsOf(&with), P999: change(pairs, 0.999)}
}

func window(text json.RawMessage, h *load.Histogram) bool {
	return text == nil || json.Unmarshal(text, h) == nil
}

func waitsOf(h *load.Histogram) bench.Waits {
	return bench.Waits{N: h.N(), P50: h.Quantile(0.5) / 1e3, P99: h.Quantile(0.99) / 1e3, P999: h.Quantile(0.999) / 1e3}
}

// change is the factor of the q-quantile of waits by sampling, with its 95 % bootstrap interval over the pairs: waits
// in a window depend on each other, windows hardly do.
func change(pairs []*pairWaits, q float64) *bench.Change {
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
	c := &bench.Change{Ratio: ratio}
	c.Low, c.High = stats.Middle95(ratios)
	return c
}

func verdict(c *bench.Change) string {
	switch {
	case c.Low > 1:
		return "longer"
	case c.High < 1:
		return "shorter"
	}
	return "not changed"
}
