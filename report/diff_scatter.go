// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
)

// scatter has, by function, the variance between runs beyond that of sampling, as a share of the squared mean, in
// ascending order.
type scatter []functionScatter

type functionScatter struct {
	change           int
	variance, weight float64
}

// scatterOf returns that of functions with a variance of their self times.
func scatterOf(changes []Change, least float64, variance func(*ComparedValue) float64) (s scatter) {
	for i := range changes {
		if v := &changes[i].Self; v.Old+v.New >= least && v.mean > 0 {
			s = append(s, functionScatter{i, (variance(v) - v.runs.Prior) / (v.mean * v.mean), v.mean})
		}
	}
	slices.SortFunc(s, func(a, b functionScatter) int { return cmp.Compare(a.variance, b.variance) })
	return s
}

// without is the median of the other functions, by time: one that has changed does not hide its own change.
func (s scatter) without(change int) float64 {
	half := 0.0
	for _, f := range s {
		if f.change != change {
			half += f.weight / 2
		}
	}
	for _, f := range s {
		if f.change == change {
			continue
		}
		if half -= f.weight; half <= 0 {
			return max(0, f.variance)
		}
	}
	return 0
}
