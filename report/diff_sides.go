// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

type side struct {
	name      string
	sum       *data
	runs      []*data // nil with one run a side
	precision tabular.Precision
	// scale is the factor of the sum's values, by [DiffOptions].Per.
	scale float64
}

func (s *side) readSum(runs []*profile.Profile, o Options) error {
	sum, err := sumOfRuns(runs)
	if err == nil {
		s.sum, err = prepare(sum, o)
	}
	if err == nil {
		s.precision, err = sumPrecision(runs, o.Value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func sumOfRuns(runs []*profile.Profile) (*profile.Profile, error) {
	switch len(runs) {
	case 0:
		return nil, errors.New("no run")
	case 1:
		return runs[0], nil
	}
	return profile.Merge(runs)
}

// sumPrecision returns the precision of the sum of runs. Samples depend on each other within a run only.
func sumPrecision(runs []*profile.Profile, value string) (sum tabular.Precision, err error) {
	for _, run := range runs {
		p, err := view.WholePrecision(run, value)
		if err != nil {
			return sum, err
		}
		sum.Total += p.Total
		sum.N += p.N
		sum.Samples += p.Samples
	}
	return sum, nil
}

func (s *side) readRuns(runs []*profile.Profile, o *DiffOptions) error {
	for i, p := range runs {
		d, err := prepare(p, o.Options)
		if err != nil {
			return fmt.Errorf("run %d of %s: %w", i+1, s.name, err)
		}
		s.runs = append(s.runs, d)
		if o.Per == "second" && d.Profile.DurationNanos <= 0 {
			return fmt.Errorf("--per second: run %d of %s has no duration", i+1, s.name)
		}
	}
	return nil
}

func (s *side) setScale(per string, runs int) error {
	if per == "second" && s.sum.Profile.DurationNanos <= 0 {
		return fmt.Errorf("--per second: %s has no duration", s.name)
	}
	s.scale = scaleOf(s.sum, per, runs)
	return nil
}

func scaleOf(sum *data, per string, runs int) float64 {
	switch per {
	case "second":
		return 1e9 / float64(sum.Profile.DurationNanos)
	case "share":
		return 1 / max(1, float64(sum.Total(sum.ValueIndex)))
	}
	return 1 / float64(runs)
}

// runCount is 1 with one run a side.
func (s *side) runCount() int { return max(1, len(s.runs)) }

// meanDuration returns the mean length of the runs, ns.
func (s *side) meanDuration() float64 {
	return float64(s.sum.Profile.DurationNanos) / float64(s.runCount())
}

func (s *side) value() *profile.ValueType { return s.sum.Profile.SampleType[s.sum.ValueIndex] }

// scaledTotal includes the samples that --focus and the like leave out.
func (s *side) scaledTotal() float64 { return s.precision.Total * s.scale }

func (s *side) memoryErr() error {
	for _, d := range s.runs {
		if err := d.Memory.Err(); err != nil {
			return err
		}
	}
	return s.sum.Memory.Err()
}

func (s *side) close() {
	if s.sum != nil {
		s.sum.Memory.Close()
	}
	for _, d := range s.runs {
		d.Memory.Close()
	}
}
