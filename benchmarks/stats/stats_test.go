// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestQuantilesAreValuesThatWereSeen(t *testing.T) {
	v := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]float64{0: 1, 0.5: 5, 0.99: 10, 1: 10} {
		near(t, "quantile", Quantile(v, q), want, 0)
	}
	near(t, "of nothing", Quantile(nil, 0.5), 0, 0)
}

func TestHolmRejectsInRisingOrder(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005}, 0.05)
	if !slices.Equal(got, []bool{true, false, false, true}) {
		t.Error(got)
	}
	if got := Holm([]float64{math.NaN(), 0.5}, 0.05); got[0] || got[1] {
		t.Error("rejected what is not a number")
	}
	if len(Holm(nil, 0.05)) != 0 {
		t.Error("rejected nothing's hypotheses")
	}
}

func slicesOf(r *rand.Rand, n, samples int, p []float64, wobble float64) []Slice {
	s := make([]Slice, n)
	for i := range s {
		q := min(1, max(0, p[i]+wobble*r.NormFloat64()))
		for range samples {
			s[i].All++
			s[i].Count++
			if r.Float64() < q {
				s[i].Part++
			}
		}
	}
	return s
}

// Independent samples, slices that differ by more than chance, a changing load, and rare functions.
func TestComparingTheSameFindsNoDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const runs, n = 3000, 16
	for _, c := range []struct {
		name             string
		p, drift, wobble float64
	}{{"independent", 0.3, 0, 0}, {"bunched", 0.3, 0, 0.1}, {"drifting", 0.3, 0.25, 0}, {"rare", 0.003, 0, 0}} {
		wrong := 0
		for range runs {
			p := make([]float64, n)
			for i := range p {
				p[i] = c.p + c.drift*math.Sin(float64(i)/3)
			}
			d := ComparePairs(slicesOf(r, n, 60, p, c.wobble), slicesOf(r, n, 60, p, c.wobble))
			if d.PValue < 0.05 {
				wrong++
			}
		}
		// Three standard deviations above 5 % of the runs.
		if limit := 0.05*runs + 3*math.Sqrt(0.05*0.95*runs); float64(wrong) > limit {
			t.Errorf("%s: %d of %d comparisons of the same are called different, at most %.0f may be", c.name, wrong, runs,
				limit)
		}
	}
}

func TestComparingDifferentSharesFindsIt(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p, q := make([]float64, 16), make([]float64, 16)
	for i := range p {
		p[i], q[i] = 0.30+0.1*math.Sin(float64(i)), 0.40+0.1*math.Sin(float64(i))
	}
	d := ComparePairs(slicesOf(r, 16, 250, p, 0), slicesOf(r, 16, 250, q, 0))
	if d.PValue > 1e-4 || d.Difference > -0.05 {
		t.Errorf("%+v", d)
	}
}

func TestWeightsOfDifferentSizeWidenTheError(t *testing.T) {
	equal := []Slice{{Part: 50, All: 100, Count: 100}, {Part: 50, All: 100, Count: 100}}
	uneven := []Slice{{Part: 50, All: 100, Count: 10}, {Part: 50, All: 100, Count: 10}}
	a, b := ComparePairs(equal, equal), ComparePairs(uneven, uneven)
	near(t, "error of equal weights", a.A.SE, math.Sqrt(0.25/200), 1e-12)
	near(t, "error of uneven weights", b.A.SE, math.Sqrt(0.25/20), 1e-12)
}

func TestComparingNothingIsNoDifference(t *testing.T) {
	full := []Slice{{1, 2, 2}, {1, 2, 2}}
	for _, c := range [][2][]Slice{{nil, nil}, {full, nil}, {{{0, 0, 0}, {0, 0, 0}}, full}, {full[:1], full[:1]}} {
		if d := ComparePairs(c[0], c[1]); d.PValue != 1 {
			t.Errorf("%v: %+v", c, d)
		}
	}
}
