// SPDX-License-Identifier: Apache-2.0

package main

import (
	"prywalk/benchmarks/stats"
	"prywalk/internal/base/statistics"
)

// errorRate is the probability that chance alone makes any of all comparisons differ.
const errorRate = 0.01

type verdict struct {
	ErrorRate float64 `json:"error_rate"`
	Tests     int     `json:"tests"`
	Differ    int     `json:"differ"`
	// Largest is the greatest |t|, Needed about the value that differs.
	Largest       float64 `json:"largest_t"`
	Needed        float64 `json:"needed_t"`
	DF            int     `json:"degrees_of_freedom"`
	MaxDifference float64 `json:"largest_difference"`
	// Names counts functions for which the tools' names differ in meaning.
	Names int `json:"names_differ"`
}

func (f *figures) judge() {
	var all []*function
	v := &verdict{ErrorRate: errorRate}
	for i := range f.Programs {
		a := f.Programs[i].Agreement
		if a == nil {
			continue
		}
		v.DF = a.Pairs - 1
		for k := range a.Functions {
			all = append(all, &a.Functions[k])
		}
	}
	p := make([]float64, len(all))
	for i, x := range all {
		p[i] = x.PValue
		v.Largest = max(v.Largest, abs(x.T))
		v.MaxDifference = max(v.MaxDifference, abs(x.Share-x.PerfShare))
		if x.Name != "" {
			v.Names++
		}
	}
	for i, differs := range stats.Holm(p, errorRate) {
		all[i].Differs = differs
		if differs {
			v.Differ++
		}
	}
	if v.Tests = len(all); v.Tests > 0 {
		v.Needed = statistics.StudentBound(errorRate/float64(v.Tests), v.DF)
		f.Test = v
	}
}

func abs(x float64) float64 { return max(x, -x) }
