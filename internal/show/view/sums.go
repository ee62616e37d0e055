// SPDX-License-Identifier: Apache-2.0

package view

import "github.com/google/pprof/profile"

// Sums returns the sum of each type of values.
func (sel *Selection) Sums(samples []*profile.Sample) []int64 {
	sum := make([]int64, len(sel.Profile.SampleType))
	for _, s := range samples {
		Add(sum, s.Value)
	}
	return sum
}

// Add adds each value.
func Add(to, values []int64) {
	for i, v := range values {
		to[i] += v
	}
}

// FunctionSums are a function's values of all types.
type FunctionSums struct{ Self, Total []int64 }

// SumsCost is the memory of one function's sums, in bytes.
func SumsCost(types int) int64 { return 256 + 16*int64(types) }

// SumFunctions returns all functions' rows, those without the chosen value last, and their values by frame. The caller
// gives back taken, in bytes.
func (d *Data) SumFunctions(samples []*profile.Sample) (rows []Row, all map[int32]*FunctionSums, taken int64) {
	all = map[int32]*FunctionSums{}
	types := len(d.Profile.SampleType)
	addFunction := func(f int32) {
		taken += SumsCost(types)
		d.Memory.Take(SumsCost(types))
		all[f] = &FunctionSums{make([]int64, types), make([]int64, types)}
	}
	rows = d.Rows(samples)
	for _, r := range rows {
		addFunction(r.Frame)
	}
	seen := map[int32]int{}
	for i, s := range samples {
		for depth, f := range d.Stack(s) {
			if all[f] == nil {
				addFunction(f)
				rows = append(rows, Row{Frame: f})
			}
			if depth == 0 {
				Add(all[f].Self, s.Value)
			}
			if seen[f] != i+1 {
				seen[f] = i + 1
				Add(all[f].Total, s.Value)
			}
		}
	}
	return rows, all, taken
}
