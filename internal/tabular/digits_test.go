package tabular

import (
	"math"
	"testing"
)

// TestDigitsAreThoseThatTheSamplesBear: a sleeper's many samples do not make the shares of CPU time exact.
func TestDigitsAreThoseThatTheSamplesBear(t *testing.T) {
	type part struct{ v, samples int64 }
	for _, c := range []struct {
		name  string
		parts []part
		n     float64
		share string // of the first part
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
