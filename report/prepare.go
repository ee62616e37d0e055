// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/google/pprof/profile"

	"prywalk/internal/view"
	"prywalk/report/options"
)

// Options choose what of a profile is shown, and how. The zero value shows the profile's default type of values.
type Options = options.View

// Errors of all forms.
var (
	// ErrValue reports that [Options].Value names a type of values that the profile does not have.
	ErrValue = view.ErrValue
	// ErrExpr reports that one of the regular expressions of [Options] is none.
	ErrExpr = view.ErrExpr
	// ErrIntervals reports that a profile does not tell how many samples its values come from.
	ErrIntervals = view.ErrIntervals
	// ErrNoTime reports that a part of the time was asked for of a profile that does not keep time.
	ErrNoTime = view.ErrNoTime
)

// Groupings lists the ways to group samples, for [Options].By.
func Groupings() []string { return view.Groupings() }

// Orders lists the orders of functions, for [Options].Sort.
func Orders() []string { return view.Orders() }

// States are those that samples have.
func States() []string { return view.States() }

// Filter gives the samples that the options leave, as a profile for other viewers. The caller's profile stays as it is.
func Filter(p *profile.Profile, o Options) (*profile.Profile, error) { return view.Filter(p, o) }

// data is a profile as the options want it seen, for the forms of this package to write.
type data struct{ *view.Data }

// prepare applies the options that all forms share.
func prepare(p *profile.Profile, o Options) (*data, error) {
	v, err := view.New(p, o)
	if err != nil {
		return nil, err
	}
	return &data{v}, nil
}
