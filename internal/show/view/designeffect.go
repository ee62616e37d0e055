// SPDX-License-Identifier: Apache-2.0

package view

import (
	"math"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

const (
	minBlockLength = 100e6 // nanoseconds
	maxBlocks      = 1000
	maxBlockParts  = 50e6 // parts of samples
	minBlockPairs  = 20
	// inverseMinShare bounds the counted functions: 1 % and more.
	inverseMinShare = 100
	// Smaller effects are within the error of the estimate.
	minDesignEffect = 1.5
)

// designEffect is the factor by which the variance of the functions' shares exceeds that of n independent samples
// (Kish), at least 1: threads in lockstep are fewer draws than samples. The variance is estimated from differences of
// successive blocks of time (von Neumann), in which a program's phases cancel. Over functions of 1 % and more:
//
//	x                    time of a function − its share of the whole × time of all functions, in a block
//	variance of the sum  ½ · Σ (xᵢ₊₁ − xᵢ)² · blocks ÷ pairs
//
// Dependence beyond a block is not detected. Without times and in short recordings the effect is 1.
func (sel *Selection) designEffect(value int, n float64) float64 {
	functions := sel.largestFunctions(value)
	all, byFunction := sel.blocksOf(value, functions)
	used, pairs := 0, 0
	for i := range all {
		if all[i] > 0 {
			if used++; i > 0 && all[i-1] > 0 {
				pairs++
			}
		}
	}
	if pairs < minBlockPairs {
		return 1
	}
	total := float64(sel.Total(value))
	measured, independent := 0.0, 0.0
	for _, x := range byFunction {
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		share := sum / total
		independent += share * (1 - share) * total * total / n
		for i := 1; i < len(all); i++ {
			if all[i-1] > 0 && all[i] > 0 {
				change := x[i] - share*all[i] - x[i-1] + share*all[i-1]
				measured += change * change / 2
			}
		}
	}
	if effect := measured * float64(used) / float64(pairs) / independent; effect > minDesignEffect {
		return effect
	}
	return 1
}

// timeRange returns false if a sample has no time, or none has a value.
func (sel *Selection) timeRange(value, wall int) (begin, end int64, ok bool) {
	begin = math.MaxInt64
	for _, s := range sel.Profile.Sample {
		sampleEnd := NumLabel(s, rec.LabelEnd)
		if s.Value[wall] < 0 || sampleEnd <= s.Value[wall] {
			return 0, 0, false
		}
		if s.Value[value] > 0 {
			begin, end = min(begin, sampleEnd-s.Value[wall]), max(end, sampleEnd)
		}
	}
	return begin, end, begin <= end
}

// blocksOf returns nil without times, and for too many parts.
func (sel *Selection) blocksOf(value int, functions map[*profile.Function]int) (all []float64, byFunction [][]float64) {
	wall, ok := sel.TypeIndex(rec.TypeWall)
	if !ok {
		return nil, nil
	}
	begin, end, ok := sel.timeRange(value, wall)
	if !ok {
		return nil, nil
	}
	length := max(minBlockLength, (end-begin)/maxBlocks+1)
	parts := int64(0)
	for _, s := range sel.Profile.Sample {
		if s.Value[value] > 0 {
			parts += s.Value[wall]/length + 1
		}
	}
	if parts > maxBlockParts {
		return nil, nil
	}
	all, byFunction = make([]float64, (end-begin)/length+1), make([][]float64, len(functions))
	for i := range byFunction {
		byFunction[i] = make([]float64, len(all))
	}
	for _, s := range sel.Profile.Sample {
		v := float64(s.Value[value])
		if v <= 0 {
			continue
		}
		last := NumLabel(s, rec.LabelEnd) - begin
		first := last - s.Value[wall]
		f, counted := functions[innermost(s)]
		for i := first / length; i <= last/length; i++ {
			part := v
			if last > first {
				part *= float64(min(last, (i+1)*length)-max(first, i*length)) / float64(last-first)
			}
			if all[i] += part; counted {
				byFunction[f][i] += part
			}
		}
	}
	return all, byFunction
}

func innermost(s *profile.Sample) *profile.Function {
	if len(s.Location) == 0 || len(s.Location[0].Line) == 0 {
		return nil
	}
	return s.Location[0].Line[0].Function
}

func (sel *Selection) largestFunctions(value int) map[*profile.Function]int {
	values, numbers := map[*profile.Function]int64{}, map[*profile.Function]int{}
	for _, s := range sel.Profile.Sample {
		values[innermost(s)] += s.Value[value]
	}
	least := max(sel.Total(value)/inverseMinShare, 1)
	for _, s := range sel.Profile.Sample { // in their order, for reproducible sums
		f := innermost(s)
		if _, ok := numbers[f]; !ok && values[f] >= least {
			numbers[f] = len(numbers)
		}
	}
	return numbers
}
