// SPDX-License-Identifier: Apache-2.0

package bench

import "prywalk/benchmarks/stats"

// ThreadCountComparison compares prywalk's rows with most and fewest threads.
type ThreadCountComparison struct {
	Fewest, Most *Row
	stats.Difference
}

// CompareThreadCounts compares rows of one workload with pairs; of equal thread counts the first.
func CompareThreadCounts(rows []Row) (out []ThreadCountComparison) {
	type same struct {
		running int
		freq    float64
	}
	var order []same
	ends := map[same]*ThreadCountComparison{}
	for i := range rows {
		r := &rows[i]
		if r.Peer != "" || r.Threads < 2 || r.Depth > 0 || len(r.Ratios) == 0 {
			continue
		}
		k := same{r.Running, r.Freq}
		f := ends[k]
		if f == nil {
			order = append(order, k)
			f = &ThreadCountComparison{Fewest: r, Most: r}
			ends[k] = f
		}
		if r.Threads < f.Fewest.Threads {
			f.Fewest = r
		}
		if r.Threads > f.Most.Threads {
			f.Most = r
		}
	}
	for _, k := range order {
		if f := ends[k]; f.Fewest != f.Most {
			f.Difference = stats.CompareMedians(f.Most.Ratios, f.Fewest.Ratios,
				func(most, few float64) float64 { return most - few })
			out = append(out, *f)
		}
	}
	return out
}

// maxEqualWidth is the widest interval without a difference; that of two rows of ±0.01 is narrower.
const maxEqualWidth = 0.04

// Verdict compares the ratio of many threads with that of few by the whole interval.
func (f *ThreadCountComparison) Verdict() string {
	switch {
	case f.Low <= 0 && f.High >= 0 && f.High-f.Low > maxEqualWidth:
		return "not distinguishable from"
	case f.High < 0:
		return "worse than"
	case f.Low > 0:
		return "better than"
	}
	return "not worse than"
}
