// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
)

func (d *Selection) precision() tabular.Precision { return d.PrecisionOf(d.ValueIndex) }

func (d *Selection) counts() (int, bool) {
	i, ok := d.TypeIndex(rec.TypeSamples)
	return i, ok && d.Profile.SampleType[i].Unit == "count"
}

// PrecisionOf returns the precision of a type of values.
func (d *Selection) PrecisionOf(value int) tabular.Precision {
	p := tabular.Precision{Total: float64(d.Total(value))}
	count, ok := d.counts()
	if !ok || p.Total <= 0 {
		return p
	}
	var e tabular.Effective
	for _, s := range d.Profile.Sample {
		e.Add(s.Value[value], s.Value[count])
	}
	p.N = max(1, e.N()/d.designEffect(value, e.N()))
	return p
}

// WholePrecision returns the precision of a whole profile.
func WholePrecision(p *profile.Profile, value string) (tabular.Precision, error) {
	d := &Selection{Options: Options{Value: value}, Profile: ShallowCopy(p)}
	if err := d.chooseValue(); err != nil {
		return tabular.Precision{}, err
	}
	return d.precision(), nil
}
