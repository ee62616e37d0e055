// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

type recording struct {
	profile.Profile
	locations map[Frame]*profile.Location
}

func newRecording(types ...string) *recording {
	r := &recording{locations: map[Frame]*profile.Location{}}
	for _, name := range types {
		unit := "nanoseconds"
		if name == rec.TypeSamples {
			unit = "count"
		}
		r.SampleType = append(r.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	return r
}

func (r *recording) mapping(file string) *profile.Mapping {
	i := slices.IndexFunc(r.Mapping, func(m *profile.Mapping) bool { return m.File == file })
	if i < 0 {
		i = len(r.Mapping)
		r.Mapping = append(r.Mapping, &profile.Mapping{ID: uint64(i + 1), File: file})
	}
	return r.Mapping[i]
}

func (r *recording) location(name, file string) *profile.Location {
	key := Frame{Name: name, Module: file}
	if l := r.locations[key]; l != nil {
		return l
	}
	l := &profile.Location{ID: uint64(len(r.Location) + 1)}
	if file != "" {
		l.Mapping = r.mapping(file)
	}
	if name != "" {
		f := &profile.Function{ID: uint64(len(r.Function) + 1), Name: name}
		r.Function = append(r.Function, f)
		l.Line = []profile.Line{{Function: f}}
	}
	r.Location = append(r.Location, l)
	r.locations[key] = l
	return l
}

func (r *recording) add(function string, values ...int64) *profile.Sample {
	return r.addStack([]*profile.Location{r.location(function, "/srv/app")}, values...)
}

func (r *recording) addStack(stack []*profile.Location, values ...int64) *profile.Sample {
	s := &profile.Sample{Location: stack, Value: values, Label: map[string][]string{}, NumLabel: map[string][]int64{}}
	r.Sample = append(r.Sample, s)
	return s
}

func (r *recording) selection() *Selection { return &Selection{Profile: &r.Profile} }

func (r *recording) data(t *testing.T, o Options) *Data {
	t.Helper()
	d, err := New(&r.Profile, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Memory.Close)
	return d
}
