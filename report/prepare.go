// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/view"
)

// Options select what of a profile is shown, and how.
type Options = view.Options

var (
	// ErrValue reports a profile without the values of [Options].Value.
	ErrValue = view.ErrValue
	// ErrExpr reports an invalid regular expression.
	ErrExpr = view.ErrExpr
	// ErrIntervals reports a profile without sample counts.
	ErrIntervals = view.ErrIntervals
	// ErrNoTime reports a profile without time stamps.
	ErrNoTime = view.ErrNoTime
)

// Groupings returns the ways to group samples ([Options].By).
func Groupings() []string { return view.Groupings() }

// IsGrouping reports whether by is one of [Groupings], "label" or "label:NAME".
func IsGrouping(by string) bool { return view.IsGrouping(by) }

// Orders returns the orders of functions ([Options].Sort).
func Orders() []string { return view.Orders() }

// States returns the states of samples.
func States() []string { return view.States() }

// Filter returns the selected samples as a profile; p is unchanged.
func Filter(p *profile.Profile, o Options) (*profile.Profile, error) { return view.Filter(p, o) }

type data struct {
	*view.Data
}

func prepare(p *profile.Profile, o Options) (*data, error) {
	v, err := view.New(p, o)
	if err != nil {
		return nil, err
	}
	return &data{Data: v}, nil
}

func writeForm(w io.Writer, p *profile.Profile, o Options, write func(*data, *printable.Writer) error) error {
	return view.Write(w, p, o, func(d *view.Data, to io.Writer) error {
		out := printable.NewWriter(to)
		return cmp.Or(write(&data{d}, out), out.Err())
	})
}

// Conclusion says in one line where the time is, and what it waits for; "" without time.
func Conclusion(p *profile.Profile, o Options) (string, error) {
	d, err := prepare(p, o)
	if err != nil {
		return "", err
	}
	defer d.Memory.Close()
	line := d.Conclusion()
	return line, d.Memory.Err()
}
