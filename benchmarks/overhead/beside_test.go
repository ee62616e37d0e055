// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"prywalk/benchmarks/bench"
	"prywalk/benchmarks/stats"
)

func TestAPeerIsComparedOnTheSameTargetAtTheSameRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	own, after := 0.02, 0.01
	row := func(peer string, freq, middle float64) bench.Row {
		return bench.Row{Threads: 20, Running: 1, Freq: freq, Peer: peer, Ratio: middle, Ratios: noisy(rng, middle, 40),
			CPUSelf: &own, CPUAfter: &after}
	}
	rows := []bench.Row{row("", 100, 0.99), row("", 1000, 0.95), row("gdb", 100, 0.4), row("perf", 1000, 0.99),
		row("same", 100, 0.99), row("other", 50, 0.9)}
	got := besides(rows)
	if len(got) != 3 {
		t.Fatalf("%d comparisons", len(got))
	}
	for i, want := range []string{"ahead", "behind", "level"} {
		if v := side(&got[i].Rate); v != want {
			t.Errorf("%s: %s, not %s: %+v", got[i].Peer.Peer, v, want, got[i].Rate)
		}
	}
	if s := beside(&bench.Result{Rows: rows}).TSV(); strings.Count(s, "\t3.00 %, 3.00 %\n") != 3 {
		t.Error(s)
	}
}

func TestAPeerThatGivesFewStacksIsJudgedByWhatEachCosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	whole, most := 1.0, 0.9
	own := bench.Row{Threads: 20, Running: 1, Freq: 100, Ratios: noisy(rng, 0.99, 100), SamplesPerS: 2000,
		Complete: &whole}
	perf := bench.Row{Threads: 20, Running: 1, Freq: 100, Peer: "perf", Ratios: noisy(rng, 0.995, 100), SamplesPerS: 100,
		Complete: &most}
	none := bench.Row{Threads: 20, Running: 1, Freq: 100, Peer: "none", Ratios: noisy(rng, 0.995, 100)}
	got := besides([]bench.Row{own, perf, none})
	if len(got) != 2 || side(&got[0].Rate) != "behind" || side(&got[0].Equal) != "ahead" ||
		got[0].completer() != "more" {
		t.Fatalf("%+v", got)
	}
	if want := 0.005/0.1 - 0.01/2; got[0].Equal.Low > want || got[0].Equal.High < want {
		t.Errorf("%+v, where %v is true", got[0].Equal, want)
	}
	if got[1].Equal != (stats.Difference{}) || side(&got[1].Equal) != "level" || got[1].completer() != "not told" {
		t.Errorf("%+v without any stack", got[1])
	}
}

func TestAPeerIsComparedWithTheRowOfItsOwnRun(t *testing.T) {
	row := func(peer string, ratio float64) bench.Row {
		return bench.Row{Threads: 2, Peer: peer, Ratios: []float64{ratio}}
	}
	got := besides([]bench.Row{row("", 0.1), row("", 0.2), row("perf", 0.3), row("", 0.4)})
	if len(got) != 1 || got[0].Own.Ratios[0] != 0.2 {
		t.Errorf("%+v", got)
	}
}

func noisy(rng *rand.Rand, middle float64, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = middle + 0.01*rng.NormFloat64()
	}
	return xs
}

func TestFlatnessHasATable(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	row := func(threads int, middle float64) bench.Row {
		return bench.Row{Threads: threads, Running: 1, Freq: 100, Ratio: middle, Ratios: noisy(rng, middle, 60)}
	}
	var b strings.Builder
	flat(&b, []bench.Row{row(2, 1), row(5000, 1)})
	if strings.Count(b.String(), "\n") != 4 {
		t.Error(b.String())
	}
}
