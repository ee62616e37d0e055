// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDigitsAreThoseThatTheSamplesBear(t *testing.T) {
	type part struct{ v, samples int64 }
	for _, c := range []struct {
		name  string
		parts []part
		n     float64
		share string
	}{
		{"all weigh the same", []part{{30, 3}, {70, 7}}, 10, "30%"},
		{"many", []part{{3000, 3000}, {7000, 7000}}, 10_000, "30.0%"},
		{"a sleeper that ran for a moment", []part{{20, 2}, {1, 5000}}, 2.2, "95%"},
		{"time that the kernel tells", []part{{20, 2}, {20, 0}}, 2, "50%"},
		{"no sample at all", []part{{57, 0}, {43, 0}}, 1, "57%"},
		{"less than one", []part{{1, 1}}, 1, "100%"},
	} {
		var e Effective
		var p Precision
		for _, x := range c.parts {
			e.Add(x.v, x.samples)
			p.Total += float64(x.v)
		}
		p.N = e.N()
		if math.Abs(p.N-c.n) > 0.05*c.n {
			t.Errorf("%s: %.2f samples, want %.1f", c.name, p.N, c.n)
		}
		if got := p.Share(c.parts[0].v); got != c.share {
			t.Errorf("%s: %s, want %s", c.name, got, c.share)
		}
	}
}

// 2,000 recordings each, also of rare and nearly constant functions. A right margin falls short of 93.5 % in one of 900
// cases of the worst kind.
func TestMarginsHoldTheTrueShare(t *testing.T) {
	const recordings = 2000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{20, 100, 700} {
		for _, share := range []float64{0, 0.002, 0.01, 0.05, 0.25, 0.5, 0.9, 0.995, 1} {
			p, held, wide := Precision{N: float64(n), Total: float64(n)}, 0, 0.0
			for range recordings {
				met := 0
				for range n {
					if rng.Float64() < share {
						met++
					}
				}
				m := p.Margin(float64(met) / float64(n))
				wide += m / recordings
				if math.Abs(float64(met)/float64(n)-share) <= m {
					held++
				}
			}
			if float64(held) < 0.935*recordings {
				t.Errorf("%d samples, a share of %v: %d of %d margins hold it", n, share, held, recordings)
			}
			if se := math.Sqrt(share * (1 - share) / float64(n)); wide > 2*se+5/float64(n) {
				t.Errorf("%d samples, a share of %v: ± %.4f, where the standard error is %.4f", n, share, wide, se)
			}
		}
	}
}

func TestMarginHasTheDigitsOfItsShare(t *testing.T) {
	for _, c := range []struct {
		n             float64
		v             int64
		share, within string
	}{
		{700, 250, "25%", "±4"}, {1000, 250, "25%", "±3"}, {10_000, 250, "25.0%", "±0.9"}, {100, 0, "0%", "±3.7"},
		{700, 1000, "100%", "±0.55"}, {1e9, 250, "25.00%", "±0.01"}, {0, 250, "25.00%", ""},
	} {
		p := Precision{N: c.n, Total: 1000}
		if share, within := p.Share(c.v), p.Within(c.v); share != c.share || within != c.within {
			t.Errorf("%v samples: %s %s, want %s %s", c.n, share, within, c.share, c.within)
		}
	}
}
