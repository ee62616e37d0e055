// SPDX-License-Identifier: Apache-2.0

// Package view makes a profile what its reader asks to see: one type of values, of the samples that filters leave, with
// each stack as a list of numbered frames. From these come the rows, groups and trees that the forms of a report show.
package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/budget"
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
	"prywalk/report/options"
)

// ErrValue reports that [Options].Value names a type of values that the profile does not have.
var ErrValue = errors.New("the profile has no values of type")

// ErrExpr reports that one of the regular expressions of [Options] is none.
var ErrExpr = errors.New("not a regular expression")

// ErrIntervals reports that a profile does not tell how many samples its values come from.
var ErrIntervals = errors.New("no intervals: the profile has no sample counts")

// Options choose what of a profile is shown, and how.
type Options = options.View

// Data is a profile prepared for a report.
type Data struct {
	Profile   *profile.Profile
	Options   Options
	Value     int // index of the type of values
	Unit      string
	Frames    []Frame
	index     map[Frame]int32
	byLoc     map[*profile.Location][]int32
	buf       []int32
	Dropped   int // samples that a filter removed
	Filters   []string
	Precision tabular.Precision
	jvms      map[int64]bool // by their numbers
	visited   int64          // frames that [Data.Stack] gave
	memory    *budget.Account
	err       error
	several   bool // processes; known where groups are threads
	idleness  map[idleKey]string
	waiters   map[**profile.Location]int // the application's innermost function, by stack
}

// New applies the options that all forms share.
func New(p *profile.Profile, o Options) (*Data, error) {
	d := &Data{Options: o, index: map[Frame]int32{}, byLoc: map[*profile.Location][]int32{},
		idleness: map[idleKey]string{}, waiters: map[**profile.Location]int{}}
	d.memory = budget.Process().Whole("the report")
	d.Profile = Shallow(p)
	if err := d.prepare(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// prepare applies the options, and takes the memory of what they leave.
func (d *Data) prepare() error {
	o, p := &d.Options, d.Profile
	if err := checkBy(o.By); err != nil {
		return err
	}
	if err := checkSort(o.Sort); err != nil {
		return err
	}
	if err := d.measure(); err != nil {
		return err
	}
	if err := d.choose(); err != nil {
		return err
	}
	switch o.By {
	case "role":
		d.findJVMs()
	case "thread":
		d.several = severalProcesses(p)
	}
	d.foldMachinery()
	if err := d.filter(); err != nil {
		return err
	}
	if d.Precision = d.precision(); o.Intervals && d.Precision.N == 0 {
		return ErrIntervals
	}
	return d.err
}

// Shallow copies the head of a profile: a filter replaces the list of samples, and
// nothing else, and the caller's profile stays as it is.
func Shallow(p *profile.Profile) *profile.Profile {
	return &profile.Profile{
		SampleType: p.SampleType, DefaultSampleType: p.DefaultSampleType, Sample: p.Sample,
		Mapping: p.Mapping, Location: p.Location, Function: p.Function, Comments: p.Comments,
		TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos, PeriodType: p.PeriodType, Period: p.Period,
	}
}

// choose finds the type of values.
func (d *Data) choose() error {
	if _, ok := d.Has(TypeBlocked); !ok && d.Options.Value == TypeBlocked {
		d.addBlocked()
	}
	name := d.Options.Value
	if _, ok := d.Has(rec.TypeWall); ok && name == "" && (d.waits() || d.sleepers()) {
		name = rec.TypeWall
	}
	var err error
	if d.Value, err = valueIndex(d.Profile, name); err != nil {
		return err
	}
	d.Unit = d.Profile.SampleType[d.Value].Unit
	return nil
}

// TypeBlocked is the time that a thread neither ran nor was ready to; a recording does not keep it, as it follows
// from the others.
const TypeBlocked = "blocked"

// addBlocked adds that type of values, where there are those that it follows from.
func (d *Data) addBlocked() {
	cpu, ok1 := d.Has(rec.TypeCPU)
	queue, ok2 := d.Has(rec.TypeRunQueue)
	wall, ok3 := d.Has(rec.TypeWall)
	if !ok1 || !ok2 || !ok3 {
		return
	}
	d.Profile.SampleType = append(slices.Clone(d.Profile.SampleType), &profile.ValueType{Type: TypeBlocked,
		Unit: d.Profile.SampleType[wall].Unit})
	samples := make([]*profile.Sample, len(d.Profile.Sample))
	for i, s := range d.Profile.Sample {
		c := *s
		c.Value = append(slices.Clone(s.Value), max(0, s.Value[wall]-s.Value[cpu]-s.Value[queue]))
		samples[i] = &c
	}
	d.Profile.Sample = samples
}

// valueIndex finds a type of values by its name.
func valueIndex(p *profile.Profile, name string) (int, error) {
	if len(p.SampleType) == 0 {
		return 0, fmt.Errorf("the profile has no values")
	}
	want := cmp.Or(name, p.DefaultSampleType)
	var have []string
	for i, t := range p.SampleType {
		if t.Type == want {
			return i, nil
		}
		have = append(have, t.Type)
	}
	if name == "" {
		return len(p.SampleType) - 1, nil
	}
	if slices.Contains(have, rec.TypeCPU) && slices.Contains(have, rec.TypeRunQueue) &&
		slices.Contains(have, rec.TypeWall) {
		have = append(have, TypeBlocked) // by [Data.addBlocked]
	}
	return 0, fmt.Errorf("%w %q; it has %s", ErrValue, name, strings.Join(have, ", "))
}

// Has reports whether the profile has a type of values, and its index.
func (d *Data) Has(name string) (int, bool) { return TypeIndex(d.Profile, name) }

// TypeIndex reports whether a profile has a type of values, and its index.
func TypeIndex(p *profile.Profile, name string) (int, bool) {
	for i, t := range p.SampleType {
		if t.Type == name {
			return i, true
		}
	}
	return 0, false
}

// Total adds up one type of values.
func (d *Data) Total(value int) (n int64) {
	for _, s := range d.Profile.Sample {
		n += s.Value[value]
	}
	return n
}

// WithBlocked gives a profile with that type of values, if it can have it. The caller's stays as it is.
func WithBlocked(p *profile.Profile) *profile.Profile {
	d := &Data{Profile: Shallow(p)}
	if _, ok := d.Has(TypeBlocked); !ok {
		d.addBlocked()
	}
	return d.Profile
}
