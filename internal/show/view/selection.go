// SPDX-License-Identifier: Apache-2.0

// Package view selects the part of a profile that a report or another viewer's file shows, and numbers its frames.
//
//	profile ──► filters ──► Selection: samples, one type of values ──► FrameTable: frames by number ──► rows, tree
package view

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	"prywalk/internal/host/filememory"
	rec "prywalk/internal/store/profile"
)

// ErrValue reports a profile without the values of [Options].Value.
var ErrValue = errors.New("the profile has no values of type")

// ErrExpr reports an invalid regular expression.
var ErrExpr = errors.New("not a regular expression")

// ErrIntervals reports a profile without sample counts.
var ErrIntervals = errors.New("no intervals: the profile has no sample counts")

// Selection is the selected samples and type of values.
type Selection struct {
	Profile    *profile.Profile
	Options    Options
	ValueIndex int      // of the selected type in Profile.SampleType
	Unit       string   // of that type
	Dropped    int      // samples that Filters excluded
	Filters    []string // flags, such as "--focus"
	// SchedulerBlocked and EventLoopBlocked are omitted blocked times, in nanoseconds: of threads asleep in Go's
	// scheduler, and in event loops of recorded tasks.
	SchedulerBlocked, EventLoopBlocked int64
	// hidden are the threads (PID, TID) with samples asleep in a scheduler or an event loop.
	hidden map[[2]int64]bool
}

// Data is a selection with its stacks, for a report.
type Data struct {
	Selection
	Table     *FrameTable
	Memory    *Memory
	Precision tabular.Precision

	waiting          *Waiting
	severalProcesses bool   // known only if threads are named
	conclusion       string // "" also before [Data.Conclusion]
	onlyWaits        bool
}

// New applies the options. The caller closes the result's Memory.
func New(p *profile.Profile, o Options) (*Data, error) {
	memory := &Memory{account: filememory.Process().AccountOfWhole("the report")}
	d := newData(ShallowCopy(p), o, newFrameTable(memory, o.Lines))
	if err := d.applyOptions(); err != nil {
		d.Memory.Close()
		return nil, err
	}
	return d, nil
}

func newData(p *profile.Profile, o Options, stacks *FrameTable) *Data {
	return &Data{Selection: Selection{Profile: p, Options: o}, Table: stacks, Memory: stacks.memory,
		waiting: NewWaiting(p, !o.NoIdle)}
}

// Of returns all of a profile that this process has made, with a table of frames that several may share. The values
// are chosen by [Data.By].
func Of(p *profile.Profile, stacks *FrameTable) *Data {
	d := newData(p, Options{}, stacks)
	d.severalProcesses = severalProcesses(p)
	return d
}

// By returns the same samples by another type of values. Precondition: the profile has it.
func (d *Data) By(value string) *Data {
	c := *d
	c.ValueIndex, _ = c.TypeIndex(value)
	c.Unit = c.Profile.SampleType[c.ValueIndex].Unit
	c.Precision = c.PrecisionOf(c.ValueIndex)
	c.conclusion, c.onlyWaits = "", false
	return &c
}

// Clock is the name of the chosen type of values.
func (sel *Selection) Clock() string { return sel.Profile.SampleType[sel.ValueIndex].Type }

// Write writes a form of a selection. It fails if that needs too much memory, or is too long ([limitedWriter]).
func Write(w io.Writer, p *profile.Profile, o Options, form func(d *Data, to io.Writer) error) error {
	d, err := New(p, o)
	if err != nil {
		return err
	}
	defer d.Memory.Close()
	return d.Write(w, func(to io.Writer) error { return form(d, to) })
}

// Write is [Write] of a selection that is made.
func (d *Data) Write(w io.Writer, form func(to io.Writer) error) error {
	buf := bufio.NewWriter(d.Memory.writer(w))
	err := form(buf)
	return cmp.Or(d.Memory.Err(), err, buf.Flush())
}

func (d *Data) applyOptions() error {
	o, p := &d.Options, d.Profile
	switch {
	case o.By != "" && !IsGrouping(o.By):
		return fmt.Errorf("cannot group by %q; choose one of %s, label or label:NAME", o.By, strings.Join(groupings, ", "))
	case o.Sort != "" && !slices.Contains(Orders(), o.Sort):
		return fmt.Errorf("cannot sort by %q; choose one of %s", o.Sort, strings.Join(Orders(), ", "))
	}
	if err := d.Memory.charge(p); err != nil {
		return err
	}
	if err := d.chooseValue(); err != nil {
		return err
	}
	if o.By == "thread" || o.Thread != "" {
		d.severalProcesses = severalProcesses(p)
	}
	d.hideSchedulers()
	d.hideInterpreter()
	if err := d.filter(); err != nil {
		return err
	}
	if _, ok := d.sampleCountIndex(); o.Intervals && !ok {
		return ErrIntervals
	}
	d.Precision = d.PrecisionOf(d.ValueIndex)
	return d.Memory.Err()
}

// ShallowCopy copies the head of a profile, so that the list of samples can be replaced.
func ShallowCopy(p *profile.Profile) *profile.Profile {
	return &profile.Profile{
		SampleType: p.SampleType, DefaultSampleType: p.DefaultSampleType, Sample: p.Sample,
		Mapping: p.Mapping, Location: p.Location, Function: p.Function, Comments: p.Comments,
		TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos, PeriodType: p.PeriodType, Period: p.Period,
	}
}

func (sel *Selection) chooseValue() error {
	if _, ok := sel.TypeIndex(TypeBlocked); !ok && sel.Options.Value == TypeBlocked {
		sel.addBlocked()
	}
	name := sel.Options.Value
	o := &sel.Options
	state, err := regexp.Compile(o.State)
	onlySleepers := o.Wait != "" || o.State != "" && err == nil && !state.MatchString("running")
	if _, ok := sel.TypeIndex(rec.TypeWall); ok && name == "" && (sel.groupsWaits() || onlySleepers) {
		name = rec.TypeWall
	}
	if sel.ValueIndex, err = valueIndex(sel.Profile, name); err != nil {
		return err
	}
	sel.Unit = sel.Profile.SampleType[sel.ValueIndex].Unit
	return nil
}

// TypeBlocked is wall − cpu − runqueue; recordings do not store it.
const TypeBlocked = "blocked"

func (sel *Selection) addBlocked() {
	clocks, ok := ClocksOf(sel.Profile)
	if !ok {
		return
	}
	sel.Profile.SampleType = append(slices.Clone(sel.Profile.SampleType), &profile.ValueType{Type: TypeBlocked,
		Unit: sel.Profile.SampleType[clocks.Wall].Unit})
	samples := make([]*profile.Sample, len(sel.Profile.Sample))
	for i, s := range sel.Profile.Sample {
		c := *s
		c.Value = append(slices.Clone(s.Value), max(0, clocks.Blocked(s)))
		samples[i] = &c
	}
	sel.Profile.Sample = samples
}

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
	if _, ok := ClocksOf(p); ok {
		have = append(have, TypeBlocked)
	}
	return 0, fmt.Errorf("%w %q; it has %s", ErrValue, name, strings.Join(have, ", "))
}

// TypeIndex returns the index of a type of values, or false.
func (sel *Selection) TypeIndex(name string) (int, bool) { return TypeIndex(sel.Profile, name) }

// TypeIndex returns the index of a type of values, or false.
func TypeIndex(p *profile.Profile, name string) (int, bool) {
	i := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
	return max(i, 0), i >= 0
}

// Total returns the sum of a type of values.
func (sel *Selection) Total(value int) (n int64) {
	for _, s := range sel.Profile.Sample {
		n += s.Value[value]
	}
	return n
}

// WithBlocked returns a shallow copy of p, with [TypeBlocked] if p has the other clocks.
func WithBlocked(p *profile.Profile) *profile.Profile {
	d := &Selection{Profile: ShallowCopy(p)}
	if _, ok := d.TypeIndex(TypeBlocked); !ok {
		d.addBlocked()
	}
	return d.Profile
}

// Options select what of a profile is shown, and how.
type Options struct {
	// Value names the type of values: "cpu", "wall", "runqueue", "samples", "blocked", or another of the file. "" means
	// wall time for waits, locks, states and sleeping threads, else the file's default, else its last.
	Value string
	// N is the number of rows, or, of a table by "wait", of groups; a negative number means all, and 0 in tables 30, or 5
	// per group (by "wait" 10 groups); in a comparison's tables 20; in JSON all. Other tables have at most 40 groups. In
	// JSON N also limits the calls of a tree.
	N int
	// By groups the table: "thread", "process", "command" (processes and short-lived children by program), "role"
	// (threads of a JVM), "state", "wait", "lock", "module", "label" or "label:NAME".
	By string
	// Sort orders functions: "self" or "total". "" means self, and of sleeping threads the program's functions first.
	Sort string
	// Full shows all functions in the table without By, Sort, Lines and Native; else it has the own ones of a program in a
	// managed language, with libraries folded.
	Full bool
	// NoIdle disables the rules for idle waits.
	NoIdle bool
	// Focus keeps samples with a function, file or module that matches this regular expression; Ignore drops them.
	Focus, Ignore string
	// Thread, Process, State and Wait keep samples whose name or number matches this regular expression.
	Thread, Process, State, Wait string
	// From and To select a part, from the recording's start; with To 0 it lasts until the end.
	From, To time.Duration
	// Intervals adds each share's 95 % interval by sampling.
	Intervals bool
	// Lines distinguishes the lines of functions, and addresses without line.
	Lines bool
	// SourceDir is where source files are searched, of functions' lines and of the page.
	SourceDir string
	// Native shows interpreter frames.
	Native bool
	// MinShare, 0 to 1, omits smaller branches of trees. 0 means 0.01, a negative number omits none.
	MinShare float64
	Color    bool
	// Width is the terminal's columns, or 0 without one: tables have at most 100, other text is not wrapped.
	Width     int
	FullNames bool
	// File is the recording in suggested commands; "" means the default.
	File string
}
