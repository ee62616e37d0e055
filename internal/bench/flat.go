// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strings"
)

// Flatness compares the row with the most threads to that with the fewest, two at least,
// of prywalk's rows that are the same otherwise.
type Flatness struct {
	Few, Most *Row
	// Difference of the ratios, most less few.
	Difference
}

// flatness finds what can be compared: rows of one workload whose pairs are known. Where there are several of one
// number of threads, the first one counts.
func flatness(rows []Row) (out []Flatness) {
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
			f.Difference = drawn(f.Most.Ratios, f.Few.Ratios, func(most, few float64) float64 { return most - few })
			out = append(out, *f)
		}
	}
	return out
}

// tellable is how wide the interval of a difference may be to say that there is none: two rows of ± 0.01 have less.
const tellable = 0.04

// verdict says whether many threads cost more: only where the whole interval says so. A wide interval around 0
// says nothing.
func (f *Flatness) verdict() string {
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

// flat writes the table of comparisons, if there are any.
func flat(b *strings.Builder, rows []Row) {
	head := "\n| running | Hz | threads | ratio | threads | ratio | difference | 95 % interval | many threads are … " +
		"few |\n|" + strings.Repeat(" --- |", 9) + "\n"
	for _, f := range flatness(rows) {
		fmt.Fprintf(b, "%s| %d | %.0f | %d | %.4f | %d | %.4f | %+.4f | %+.4f to %+.4f | %s |\n", head, f.Few.Running,
			f.Few.Freq,
			f.Few.Threads, f.Few.Ratio, f.Most.Threads, f.Most.Ratio, f.Middle, f.Low, f.High, f.verdict())
		head = ""
	}
}
