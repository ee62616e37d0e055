// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"

	"prywalk/internal/base/statistics"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

// maxSpreadBetweenRuns is the largest difference of equal loads, as a share of the whole.
const maxSpreadBetweenRuns = 0.1

// minTestedSamples: runs with fewer take milliseconds, and differ as a whole.
const minTestedSamples = 10

const severalRuns = "Compare several runs: -a A1,A2,A3 -b B1,B2,B3."

type sampleComparison [2]*side

func (c sampleComparison) whole() ComparedValue {
	older, newer := c[0].sum, c[1].sum
	return c.values(float64(older.Total(older.ValueIndex)), float64(newer.Total(newer.ValueIndex)))
}

func (c sampleComparison) function(_ *view.Frame, before, after view.Row) (self, total ComparedValue) {
	return c.values(float64(before.Self), float64(after.Self)), c.values(float64(before.Total), float64(after.Total))
}

func (c sampleComparison) values(before, after float64) ComparedValue {
	v := ComparedValue{Old: before * c[0].scale, New: after * c[1].scale}
	if !c.hasCounts() {
		return v
	}
	oldWhole, newWhole := c[0].scaledTotal(), c[1].scaledTotal()
	v.partOfWholesChange = min(1, (v.Old+v.New)/(oldWhole+newWhole)) * max(-maxSpreadBetweenRuns*oldWhole,
		min(newWhole-oldWhole, maxSpreadBetweenRuns*oldWhole))
	if before == c[0].precision.Total && after == c[1].precision.Total { // measured by the kernel
		return v
	}
	value := [2]float64{v.Old, v.New}
	ifEqual := c.pooledMean(value)
	for _, s := range c {
		whole := s.scaledTotal()
		v.errorIfEqual = math.Hypot(v.errorIfEqual, whole*s.precision.Err(min(1, ifEqual/whole)))
	}
	return v
}

func (c sampleComparison) hasCounts() bool {
	for _, s := range c {
		if s.precision.N <= 0 || s.precision.Total <= 0 {
			return false
		}
	}
	return true
}

// pooledMean is weighted by samples: the best estimate if both sides are equal.
func (c sampleComparison) pooledMean(value [2]float64) float64 {
	var sum, rates float64
	for i, s := range c {
		samplesPerUnit := s.precision.N / s.scaledTotal()
		sum, rates = sum+samplesPerUnit*value[i], rates+samplesPerUnit
	}
	return sum / rates
}

// mark marks significant changes of functions. The whole stays unmarked: with one run a side the noise between runs is
// unknown.
func (c sampleComparison) mark(_ *ComparedValue, changes []Change) {
	tests, tested := 2*len(changes), c.untested() == ""
	bound, level := significanceBound(tests), significanceLevel(tests)
	for i := range changes {
		for _, v := range []*ComparedValue{&changes[i].Self, &changes[i].Total} {
			v.tested = tested
			if v.decide(bound); v.Significant && c.isTestedExactly(v) {
				v.Significant = c.chance(v.Old, v.New) < level && c.chance(v.Old, v.New-v.partOfWholesChange) < level
			}
		}
	}
}

func (c sampleComparison) leastFound(changes []Change, _ [2]int) (function, whole float64) {
	old, largest := c.whole().Old, 0.0
	for i := range changes {
		largest = max(largest, changes[i].Self.Old)
	}
	bound := significanceBound(2*len(changes)) + nineInTen
	return leastShare(func(share float64) bool {
		growth := share * old
		v := c.values(largest/c[0].scale, (largest+growth)/c[1].scale)
		part := min(growth, maxSpreadBetweenRuns*old) * min(1, (v.Old+v.New)/(2*old+growth))
		return growth-part > bound*v.errorIfEqual
	}), 0
}

const (
	// maxExactCount bounds the smaller expectation, in samples. For larger ones the normal law holds.
	maxExactCount = 1e4
	// maxExactSamples is below 2⁵³, from which on a float64 is no count.
	maxExactSamples = 1e15
)

// isTestedExactly reports that few samples, and at most half of each whole, are expected if both sides are equal.
// Fisher's test finds little in larger values if the wholes differ: the sum of the counts nearly fixes both.
func (c sampleComparison) isTestedExactly(v *ComparedValue) bool {
	ifEqual, least := c.pooledMean([2]float64{v.Old, v.New}), math.Inf(1)
	for _, s := range c {
		share := ifEqual / s.scaledTotal()
		if share > 0.5 || s.precision.N > maxExactSamples {
			return false
		}
		least = min(least, share*s.precision.N)
	}
	return least <= maxExactCount
}

// chance is the probability of such values if both sides are equal. Precondition: isTestedExactly.
func (c sampleComparison) chance(older, newer float64) float64 {
	var counts, samples, odds [2]float64
	value := [2]float64{older, max(newer, 0)}
	ifEqual := c.pooledMean(value)
	if ifEqual <= 0 {
		return 1
	}
	for i, s := range c {
		whole := s.scaledTotal()
		counts[i], samples[i] = s.precision.N*min(value[i]/whole, 1), s.precision.N
		odds[i] = ifEqual / (whole - ifEqual)
	}
	return statistics.FisherTail(counts, samples, odds[1]/odds[0])
}

func (c sampleComparison) untested() string {
	value := c[1].value().Type
	for _, s := range c {
		if s.precision.Total <= 0 {
			return fmt.Sprintf("%s has no %s time", s.name, value)
		}
	}
	for _, s := range c {
		if s.precision.N <= 0 {
			return s.name + " has no sample counts"
		}
	}
	for _, s := range c {
		switch n := s.precision.Samples; {
		case n <= 0:
			return fmt.Sprintf("%s has no sample with %s time", s.name, value)
		case n < minTestedSamples:
			return fmt.Sprintf("%s has only %s with %s time", s.name, tabular.Plural(n, "sample"), value)
		}
	}
	return ""
}

func (c sampleComparison) exceedsUntested() bool {
	older, newer := &c[0].precision, &c[1].precision
	uncounted := older.Total > 0 && older.N == 0 || newer.Total > 0 && newer.N == 0
	return uncounted || older.Total <= 0 && newer.Samples >= minTestedSamples
}

func (c sampleComparison) note() string {
	if why := c.untested(); why != "" {
		return "Not tested for significance: " + why + ". " + severalRuns
	}
	return fmt.Sprintf("One run per side: significant means more than sampling explains, and more than a change of the "+
		"whole by %g%%. The noise between runs is not known. %s", 100*maxSpreadBetweenRuns, severalRuns)
}
