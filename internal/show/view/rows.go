// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/incomplete"
	rec "prywalk/internal/store/profile"
)

// Row is a function's values.
type Row struct {
	Frame       int32
	Self, Total int64
	depth       float64 // sum of value × distance from the innermost frame
}

// Rows sums samples by frame; Total counts a frame once per sample.
func (d *Data) Rows(samples []*profile.Sample) []Row {
	var rows []Row
	rowOf := map[int32]int{}      // by frame
	lastSample := map[int32]int{} // by frame: the number, from 1, of the last sample that has it
	for i, s := range samples {
		v := s.Value[d.ValueIndex]
		if v == 0 {
			continue
		}
		for depth, f := range d.Stack(s) {
			n, ok := rowOf[f]
			if !ok {
				n = len(rows)
				rowOf[f] = n
				rows = append(rows, Row{Frame: f})
			}
			if depth == 0 {
				rows[n].Self += v
			}
			if lastSample[f] != i+1 {
				lastSample[f] = i + 1
				rows[n].Total += v
				rows[n].depth += float64(v) * float64(depth)
			}
		}
	}
	asleep := len(samples) > 0 && (d.OnlyBlocked() || Label(samples[0], rec.LabelWait) != "")
	d.sort(rows, d.groupsWaits() && asleep)
	incomplete.Raise(rows, func(r *Row) (string, int64, int64) {
		if f := &d.Frames[r.Frame]; f.incomplete() {
			return f.Name, r.Self, r.Total
		}
		return "", r.Self, r.Total
	})
	return rows
}

// Orders returns the values of [Options].Sort.
func Orders() []string { return []string{"self", "total"} }

// sort orders rows by self, then total value, or as [Options].Sort says; of equal ones, the program's functions and
// inner ones come first. If asleep (waiting threads), small functions and those of language and system are last.
func (d *Data) sort(rows []Row, asleep bool) {
	var all int64
	for i := range rows {
		all += rows[i].Self
	}
	far := func(r Row) float64 { return r.depth / max(1, float64(r.Total)) }
	minor := func(r Row, f *Frame) int { // 1 for functions of language and system, and small ones
		if 10*r.Total < all {
			return 1
		}
		return f.supportRank()
	}
	slices.SortFunc(rows, func(a, b Row) int {
		x, y := &d.Frames[a.Frame], &d.Frames[b.Frame]
		if d.Options.Sort == "total" && a.Total != b.Total {
			return cmp.Compare(b.Total, a.Total)
		}
		if d.Options.Sort == "" && (asleep || d.groupsWaits() && a.Self == 0 && b.Self == 0) {
			if c := cmp.Compare(minor(a, x), minor(b, y)); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total),
			cmp.Compare(x.supportRank(), y.supportRank()), cmp.Compare(far(a), far(b)), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Module, y.Module), cmp.Compare(x.Line, y.Line))
	})
}

func (sel *Selection) groupsWaits() bool {
	by := sel.Options.By
	return by == "wait" || by == "state" || by == "lock"
}

// Limit returns the number of rows to show.
func (sel *Selection) Limit(standard int) int {
	switch {
	case sel.Options.N == 0:
		return standard
	case sel.Options.N < 0:
		return math.MaxInt
	}
	return sel.Options.N
}

// OnlyBlocked reports whether blocked time is the only type of values, as in a profile of blame.
func (sel *Selection) OnlyBlocked() bool {
	return len(sel.Profile.SampleType) == 1 && sel.Profile.SampleType[0].Type == TypeBlocked
}
