package report

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
)

// ErrValue reports that [Options].Value names a type of values that the profile does not have.
var ErrValue = errors.New("the profile has no values of type")

// ErrExpr reports that one of the regular expressions of [Options] is none.
var ErrExpr = errors.New("not a regular expression")

// Options choose what of a profile is shown, and how. The zero value shows the
// profile's default type of values.
type Options struct {
	// Value names the type of values: "cpu", "wall", "runqueue", "samples", or
	// whatever the file has. Empty: the file's default, else its last.
	Value string
	// N is the number of rows of the table; 0 means 30, or 5 for each group. A
	// negative number means all.
	N int
	// By groups the table: "thread", "process", "state", "wait" or "module".
	By string
	// Focus keeps the samples in which a function, file or module matches this
	// regular expression; Ignore drops those. Empty: all, none.
	Focus, Ignore string
	// Lines tells lines of a function apart, and addresses without one.
	Lines bool
	// MinShare is the share of the whole, 0 to 1, below which the tree leaves
	// a branch out; 0 means 0.01, negative shows all.
	MinShare float64
	// Color allows colours (ANSI escape sequences) in text.
	Color bool
	// Width is the number of columns of text, 0 for any; longer function
	// names lose their middle.
	Width int
	// Title heads the page; empty: the target's name.
	Title string
}

// data is a profile prepared for a report.
type data struct {
	prof    *profile.Profile
	opts    Options
	value   int // index of the type of values
	unit    string
	frames  []frame
	index   map[frame]int32
	byLoc   map[*profile.Location][]int32
	buf     []int32
	dropped int // samples that a filter removed
}

// prepare applies the options that all forms share.
func prepare(p *profile.Profile, o Options) (*data, error) {
	d := &data{opts: o, index: map[frame]int32{}, byLoc: map[*profile.Location][]int32{}}
	d.prof = shallow(p)
	var err error
	if d.value, err = valueIndex(p, o.Value); err != nil {
		return nil, err
	}
	d.unit = p.SampleType[d.value].Unit
	if err := checkBy(o.By); err != nil {
		return nil, err
	}
	return d, d.filter()
}

// shallow copies the head of a profile: a filter replaces the list of samples, and
// nothing else, and the caller's profile stays as it is.
func shallow(p *profile.Profile) *profile.Profile {
	return &profile.Profile{
		SampleType: p.SampleType, DefaultSampleType: p.DefaultSampleType, Sample: p.Sample,
		Mapping: p.Mapping, Location: p.Location, Function: p.Function, Comments: p.Comments,
		TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos, PeriodType: p.PeriodType, Period: p.Period,
	}
}

// valueIndex finds a type of values by its name.
func valueIndex(p *profile.Profile, name string) (int, error) {
	if len(p.SampleType) == 0 {
		return 0, fmt.Errorf("the profile has no values")
	}
	want := name
	if want == "" {
		want = p.DefaultSampleType
	}
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
	return 0, fmt.Errorf("%w %q; it has %s", ErrValue, name, strings.Join(have, ", "))
}

// filter drops the samples that Focus and Ignore do not leave.
func (d *data) filter() error {
	focus, err := compile("focus", d.opts.Focus)
	if err != nil {
		return err
	}
	ignore, err := compile("ignore", d.opts.Ignore)
	if err != nil {
		return err
	}
	before := len(d.prof.Sample)
	d.prof.FilterSamplesByName(focus, ignore, nil, nil)
	d.dropped = before - len(d.prof.Sample)
	if before > 0 && len(d.prof.Sample) == 0 {
		return fmt.Errorf("nothing is left: no stack matches --focus %q without --ignore %q", d.opts.Focus, d.opts.Ignore)
	}
	return nil
}

func compile(what, expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("%w: --%s: %w", ErrExpr, what, err)
	}
	return re, nil
}

// has reports whether the profile has a type of values, and its index.
func (d *data) has(name string) (int, bool) {
	for i, t := range d.prof.SampleType {
		if t.Type == name {
			return i, true
		}
	}
	return 0, false
}

// total adds up one type of values.
func (d *data) total(value int) (n int64) {
	for _, s := range d.prof.Sample {
		n += s.Value[value]
	}
	return n
}

// writer is an io.Writer with a sticky error.
type writer struct {
	w   io.Writer
	err error
}

// printf formats, with strings among args made printable.
func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = io.WriteString(w.w, printable.Sprintf(format, args...))
	}
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}
