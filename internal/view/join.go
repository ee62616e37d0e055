package view

import (
	"maps"
	"slices"

	"github.com/google/pprof/profile"
)

// Join is a profile with the samples of two: the first type of values is of the later one, the second of the earlier,
// multiplied by a factor. Their threads have other numbers, so only names tell them apart.
func Join(older, newer *Data, factor float64) *Data {
	d := *newer
	p := Shallow(d.Profile)
	unit := p.SampleType[newer.Value].Unit
	p.SampleType = []*profile.ValueType{{Type: "new", Unit: unit}, {Type: "old", Unit: unit}}
	p.Comments, p.PeriodType = nil, nil
	d.Profile, d.Value = p, 0
	d.Frames, d.index, d.byLoc = slices.Clone(d.Frames), maps.Clone(d.index), maps.Clone(d.byLoc)
	p.Sample = nil
	for _, s := range newer.Profile.Sample {
		p.Sample = append(p.Sample, withoutNumbers(s, s.Value[newer.Value], 0))
	}
	for _, s := range older.Profile.Sample {
		p.Sample = append(p.Sample, withoutNumbers(s, 0, int64(float64(s.Value[older.Value])*factor)))
		for _, l := range s.Location {
			if _, ok := d.byLoc[l]; ok {
				continue
			}
			fs := older.location(l)
			for i, f := range fs {
				fs[i] = d.Number(older.Frames[f])
			}
			d.byLoc[l] = fs
		}
	}
	return &d
}

// withoutNumbers is a sample without the numbers of its thread and process.
func withoutNumbers(s *profile.Sample, now, was int64) *profile.Sample {
	return &profile.Sample{Location: s.Location, Label: s.Label, Value: []int64{now, was}}
}
