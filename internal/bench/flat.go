// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math/rand/v2"
	"slices"
)

// Flatness compares the row with the most threads to that with the fewest, two at least,
// of prywalk's rows that are the same otherwise.
type Flatness struct {
	Few, Most *Row
	// Difference of the ratios, most less few.
	Difference
}

// Flat finds what can be compared: rows of one workload whose pairs are known. Where there are several of one
// number of threads, the first one counts.
func Flat(rows []Row) (out []Flatness) {
	type same struct {
		running int
		freq    float64
	}
	var order []same
	ends := map[same]*Flatness{}
	for i := range rows {
		r := &rows[i]
		if r.Peer != "" || r.Threads < 2 || r.Depth > 0 || len(r.Ratios) == 0 {
			continue
		}
		k := same{r.Running, r.Freq}
		f := ends[k]
		if f == nil {
			order = append(order, k)
			f = &Flatness{Few: r, Most: r}
			ends[k] = f
		}
		if r.Threads < f.Few.Threads {
			f.Few = r
		}
		if r.Threads > f.Most.Threads {
			f.Most = r
		}
	}
	for _, k := range order {
		if f := ends[k]; f.Few != f.Most {
			f.Difference = Drawn(f.Most.Ratios, f.Few.Ratios, func(most, few float64) float64 { return most - few })
			out = append(out, *f)
		}
	}
	return out
}

// tellable is how wide the interval of a difference may be to say that there is none: two rows of ± 0.01 have less.
const tellable = 0.04

// Verdict says whether many threads cost more: only where the whole interval says so. A wide interval around 0
// says nothing.
func (f *Flatness) Verdict() string {
	switch {
	case f.Low <= 0 && f.High >= 0 && f.High-f.Low > tellable:
		return "not told from"
	case f.High < 0:
		return "worse than"
	case f.Low > 0:
		return "better than"
	}
	return "not worse than"
}

// Difference is a difference with its 95 % interval.
type Difference struct{ Middle, Low, High float64 }

// Drawn gives a figure of two medians, and its 95 % interval by the bootstrap.
func Drawn(own, peer []float64, figure func(own, peer float64) float64) (d Difference) {
	d.Middle = figure(median(slices.Clone(own)), median(slices.Clone(peer)))
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := make([]float64, len(own)), make([]float64, len(peer))
	all := make([]float64, resamples)
	for i := range all {
		draw(rng, a, own)
		draw(rng, b, peer)
		all[i] = figure(median(a), median(b))
	}
	d.Low, d.High = Middle95(all)
	return d
}
