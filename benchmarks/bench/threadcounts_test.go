// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"prywalk/benchmarks/bench/tools"
	"prywalk/benchmarks/stats"
)

func noisy(rng *rand.Rand, middle float64, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = middle + 0.01*rng.NormFloat64()
	}
	return xs
}

func TestFlatnessComparesTheMostThreadsWithTheFewest(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	row := func(threads int, middle float64) Row {
		return Row{Threads: threads, Running: 1, Freq: 100, Ratio: middle, Ratios: noisy(rng, middle, 60)}
	}
	got := CompareThreadCounts([]Row{
		row(1, 0.5), row(5000, 0.95), row(2, 0.99), row(100, 0.2), {Threads: 9000, Running: 1, Freq: 100,
			Peer: "gdb", Ratios: []float64{1}}})
	if len(got) != 1 || got[0].Fewest.Threads != 2 || got[0].Most.Threads != 5000 {
		t.Fatalf("%+v", got)
	}
	if f := got[0]; f.Low > -0.04 || f.High < -0.04 || f.High > -0.02 || f.Low < -0.06 {
		t.Errorf("%.4f, %.4f to %.4f, where -0.04 is true", f.Middle, f.Low, f.High)
	}
	if v := got[0].Verdict(); v != "worse than" {
		t.Errorf("%s: %+v", v, got[0].Difference)
	}
	for want, d := range map[string]stats.Difference{
		"not worse than": {Low: -0.01, High: 0.02}, "not distinguishable from": {Low: -0.1, High: 0.2},
		"better than": {Low: 0.1, High: 0.2},
	} {
		if v := (&ThreadCountComparison{Difference: d}).Verdict(); v != want {
			t.Errorf("%+v: %s, not %s", d, v, want)
		}
	}
	if got := CompareThreadCounts([]Row{row(2, 1)}); len(got) != 0 {
		t.Errorf("%+v of one row", got)
	}
}

func TestPairsAreAddedUntilTheIntervalIsNarrowOrTheTimeIsOver(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	later, past := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	m := &measurement{run: &run{}, precision: 0.01, maxPairs: 5, ratios: noisy(rng, 1, 4)}
	if m.hasEnoughPairs(past) {
		t.Error("fewer pairs than asked for")
	}
	m.ratios = []float64{0.9, 0.95, 1, 1.05, 1.1}
	if m.hasEnoughPairs(later) || !m.tooWide() || !m.hasEnoughPairs(past) {
		t.Error("a wide interval")
	}
	m.ratios = noisy(rng, 1, 205)
	if !m.hasEnoughPairs(later) || m.tooWide() {
		t.Error("a narrow interval")
	}
	m.precision, m.ratios = 0, m.ratios[:5]
	if !m.hasEnoughPairs(later) || m.tooWide() {
		t.Error("nothing was asked for")
	}
}

func TestRatiosOfARowAscend(t *testing.T) {
	m := &measurement{run: &run{}, workload: &workload{cell: cell{Load: &Load{}}}, ratios: []float64{0.9, 0.7, 0.8}}
	row := m.row(toolRate{}, &tools.Job{}, &tools.Totals{})
	if want := []float64{0.7, 0.8, 0.9}; !slices.Equal(row.Ratios, want) || row.Ratio != 0.8 {
		t.Errorf("%v, median %v", row.Ratios, row.Ratio)
	}
}
