package report

import (
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
)

// precision is that of the chosen values.
func (d *data) precision() tabular.Precision { return d.precisionOf(d.value) }

// precisionOf is that of one of the profile's types of values.
func (d *data) precisionOf(value int) tabular.Precision {
	p := tabular.Precision{Total: float64(d.total(value))}
	count, ok := d.has(rec.TypeSamples)
	if !ok || d.prof.SampleType[count].Unit != "count" || p.Total <= 0 {
		return p
	}
	var e tabular.Effective
	for _, s := range d.prof.Sample {
		e.Add(s.Value[value], s.Value[count])
	}
	p.N = e.N()
	return p
}
