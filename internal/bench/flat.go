package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Flatness compares the row with the most threads to that with the fewest, two at least,
// of prywalk's rows that are the same otherwise.
type Flatness struct {
	Few, Most *Row
	// Difference of the ratios, most less few, and its 95 % interval.
	Difference, Low, High float64
}

// flatness finds what can be compared: rows of one workload whose pairs are known.
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
			f.compare()
			out = append(out, *f)
		}
	}
	return out
}

// compare gives the difference of the medians, and its interval by the bootstrap: both rows'
// pairs are drawn anew.
func (f *Flatness) compare() {
	few, most := slices.Clone(f.Few.Ratios), slices.Clone(f.Most.Ratios)
	f.Difference = median(slices.Clone(most)) - median(slices.Clone(few))
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := make([]float64, len(most)), make([]float64, len(few))
	differences := make([]float64, resamples)
	for i := range differences {
		draw(rng, a, most)
		draw(rng, b, few)
		differences[i] = median(a) - median(b)
	}
	f.Low, f.High = middle95(differences)
}

// flat writes the table of comparisons, if there are any.
func flat(b *strings.Builder, rows []Row) {
	head := "\n| running | Hz | threads | ratio | threads | ratio | difference | 95 % interval |\n|" + strings.Repeat(" --- |", 8) + "\n"
	for _, f := range flatness(rows) {
		fmt.Fprintf(b, "%s| %d | %.0f | %d | %.4f | %d | %.4f | %+.4f | %+.4f to %+.4f |\n", head, f.Few.Running, f.Few.Freq,
			f.Few.Threads, f.Few.Ratio, f.Most.Threads, f.Most.Ratio, f.Difference, f.Low, f.High)
		head = ""
	}
}
