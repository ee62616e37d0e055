// SPDX-License-Identifier: Apache-2.0

package view

import (
	"math"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
)

const (
	// blockLength is the least length of a block of time, ns: some ticks.
	blockLength = 100e6
	// mostBlocks bounds the number of blocks.
	mostBlocks = 1000
	// mostParts bounds the number of parts of intervals in blocks.
	mostParts = 50e6
	// leastPairs is the number of pairs of blocks from which variance can be estimated.
	leastPairs = 20
	// leastShareOf is the inverse of the least share of the functions that are counted.
	leastShareOf = 100
	// leastEffect is the design effect that is told from 1: the estimate's own error is less.
	leastEffect = 1.5
)

// designEffect is by how much the variance of the functions' shares exceeds that of n independent samples (Kish), at
// least 1. Threads in lockstep are fewer draws than samples. The variance is estimated from differences of successive
// blocks of time (von Neumann), where the phases of a program cancel: with x = time of a function − its share of the
// whole × time of all in a block, variance of the sum = ½ · Σ (xᵢ₊₁ − xᵢ)² · blocks ÷ pairs. Functions of 1 % and more
// are added up. Dependence over more than a block is not seen. Without times, or in short recordings, it is 1.
func (d *Selection) designEffect(value int, n float64) float64 {
	blocks := d.blocksOf(value)
	used, pairs := 0, 0
	for i, b := range blocks {
		if b.all > 0 {
			if used++; i > 0 && blocks[i-1].all > 0 {
				pairs++
			}
		}
	}
	if pairs < leastPairs {
		return 1
	}
	total := float64(d.Total(value))
	measured, independent := 0.0, 0.0
	for f, sum := range d.largestFunctions(value) {
		share := float64(sum) / total
		independent += share * (1 - share) * total * total / n
		for i := 1; i < len(blocks); i++ {
			if was, is := &blocks[i-1], &blocks[i]; was.all > 0 && is.all > 0 {
				change := is.of[f] - share*is.all - was.of[f] + share*was.all
				measured += change * change / 2
			}
		}
	}
	if effect := measured * float64(used) / float64(pairs) / independent; effect > leastEffect {
		return effect
	}
	return 1
}

// block has the values of a block of time.
type block struct {
	all float64
	of  map[*profile.Function]float64 // by innermost function
}

// blocksOf divides a type of values into blocks of time, nil if there are no times or
// too many parts.
func (d *Selection) blocksOf(value int) []block {
	wall, ok := d.TypeIndex(rec.TypeWall)
	if !ok {
		return nil
	}
	begin, end := int64(math.MaxInt64), int64(0)
	for _, s := range d.Profile.Sample {
		at := Number(s, rec.LabelEnd)
		if s.Value[wall] < 0 || at <= s.Value[wall] {
			return nil
		}
		if s.Value[value] > 0 {
			begin, end = min(begin, at-s.Value[wall]), max(end, at)
		}
	}
	if begin > end {
		return nil
	}
	length := max(blockLength, (end-begin)/mostBlocks+1)
	parts := int64(0)
	for _, s := range d.Profile.Sample {
		if s.Value[value] > 0 {
			parts += s.Value[wall]/length + 1
		}
	}
	if parts > mostParts {
		return nil
	}
	blocks := make([]block, (end-begin)/length+1)
	for _, s := range d.Profile.Sample {
		if v := float64(s.Value[value]); v > 0 {
			last := Number(s, rec.LabelEnd) - begin
			first := last - s.Value[wall]
			f := innermost(s)
			for i := first / length; i <= last/length; i++ {
				part := v
				if last > first {
					part *= float64(min(last, (i+1)*length)-max(first, i*length)) / float64(last-first)
				}
				blocks[i].add(f, part)
			}
		}
	}
	return blocks
}

func (b *block) add(f *profile.Function, v float64) {
	if b.of == nil {
		b.of = map[*profile.Function]float64{}
	}
	b.all += v
	b.of[f] += v
}

func innermost(s *profile.Sample) *profile.Function {
	if len(s.Location) == 0 || len(s.Location[0].Line) == 0 {
		return nil
	}
	return s.Location[0].Line[0].Function
}

// largestFunctions gives the innermost functions of at least 1 % with their values.
func (d *Selection) largestFunctions(value int) map[*profile.Function]int64 {
	of := map[*profile.Function]int64{}
	for _, s := range d.Profile.Sample {
		of[innermost(s)] += s.Value[value]
	}
	total := d.Total(value)
	for f, v := range of {
		if v < total/leastShareOf {
			delete(of, f)
		}
	}
	return of
}
