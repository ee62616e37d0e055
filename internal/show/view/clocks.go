// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	rec "prywalk/internal/store/profile"
)

// Clocks are sums of the kernel's clocks, in nanoseconds.
type Clocks struct{ CPU, RunQueue, Blocked int64 }

// Wall is their sum.
func (c *Clocks) Wall() int64 { return c.CPU + c.RunQueue + c.Blocked }

// ClockIndices are the indices of the kernel's clocks in a sample's values.
type ClockIndices struct{ CPU, RunQueue, Wall int }

// ClocksOf returns the indices of a profile's clocks. ok is false for a profile that is not prywalk's.
func ClocksOf(p *profile.Profile) (clocks ClockIndices, ok bool) {
	var hasCPU, hasQueue, hasWall bool
	clocks.CPU, hasCPU = TypeIndex(p, rec.TypeCPU)
	clocks.RunQueue, hasQueue = TypeIndex(p, rec.TypeRunQueue)
	clocks.Wall, hasWall = TypeIndex(p, rec.TypeWall)
	return clocks, hasCPU && hasQueue && hasWall
}

// Blocked returns a sample's time off CPU and run queue, in nanoseconds.
func (c *ClockIndices) Blocked(s *profile.Sample) int64 {
	return s.Value[c.Wall] - s.Value[c.CPU] - s.Value[c.RunQueue]
}

func (sel *Selection) isRecording() bool {
	_, ok := ClocksOf(sel.Profile)
	return ok
}

// Clocks adds up samples; not ok: the profile is not prywalk's.
func (sel *Selection) Clocks(samples []*profile.Sample) (sum Clocks, ok bool) {
	clocks, ok := ClocksOf(sel.Profile)
	if !ok {
		return sum, false
	}
	for _, s := range samples {
		sum.CPU += s.Value[clocks.CPU]
		sum.RunQueue += s.Value[clocks.RunQueue]
		sum.Blocked += clocks.Blocked(s)
	}
	sum.Blocked = max(0, sum.Blocked)
	return sum, true
}

// sampleCountIndex returns the index of the number of samples, or false if the profile has none.
func (sel *Selection) sampleCountIndex() (int, bool) {
	i, ok := sel.TypeIndex(rec.TypeSamples)
	return i, ok && sel.Profile.SampleType[i].Unit == "count"
}

// PrecisionOf returns the precision of a type of values.
func (sel *Selection) PrecisionOf(value int) tabular.Precision {
	p := tabular.Precision{Total: float64(sel.Total(value))}
	count, ok := sel.sampleCountIndex()
	if !ok || p.Total <= 0 {
		return p
	}
	var e tabular.Effective
	for _, s := range sel.Profile.Sample {
		e.Add(s.Value[value], s.Value[count])
		if s.Value[value] > 0 {
			p.Samples += max(0, s.Value[count])
		}
	}
	p.N = max(1, e.N()/sel.designEffect(value, e.N()))
	return p
}

// WholePrecision returns the precision of a whole profile.
func WholePrecision(p *profile.Profile, value string) (tabular.Precision, error) {
	d := &Selection{Options: Options{Value: value}, Profile: ShallowCopy(p)}
	if err := d.chooseValue(); err != nil {
		return tabular.Precision{}, err
	}
	return d.PrecisionOf(d.ValueIndex), nil
}
