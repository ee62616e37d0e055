// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	rec "prywalk/internal/store/profile"
)

// sampleCountIndex returns the index of the number of samples; false: the profile has none.
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
