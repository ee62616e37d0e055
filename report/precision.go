package report

import (
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
)

// precision is that of the chosen values.
func (d *data) precision() tabular.Precision {
	p := tabular.Precision{Total: float64(d.total(d.value))}
	count, ok := d.has(rec.TypeSamples)
	if !ok || d.prof.SampleType[count].Unit != "count" || p.Total <= 0 {
		return p
	}
	var e tabular.Effective
	for _, s := range d.prof.Sample {
		e.Add(s.Value[d.value], s.Value[count])
	}
	p.N = e.N()
	return p
}
