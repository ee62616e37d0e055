// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

func part(begin, length, cpu int64, clock string, comments ...string) *profile.Profile {
	f := &profile.Function{ID: 1, Name: "f"}
	loc := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: clock, Unit: "nanoseconds"}}, TimeNanos: begin, DurationNanos: length,
		PeriodType: &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
		Sample:     []*profile.Sample{{Location: []*profile.Location{loc}, Value: []int64{cpu}}},
		Function:   []*profile.Function{f}, Location: []*profile.Location{loc}, Comments: comments,
	}
}

func TestRecordingsAreJoinedFromTheFirstBeginToTheLastEnd(t *testing.T) {
	a := part(1000, 100, 10, "cpu", PartComment(1))
	b := part(1200, 300, 20, "cpu", "the account")
	for _, all := range [][]*profile.Profile{{a, b}, {b, a}} {
		p, err := Join(all)
		if err != nil {
			t.Fatal(err)
		}
		if total := p.Sample[0].Value[0]; len(p.Sample) != 1 || total != 30 || p.TimeNanos != 1000 || p.DurationNanos != 500 {
			t.Errorf("%d samples, the first of %d, from %d for %d; want one of 30, from 1000 for 500",
				len(p.Sample), total, p.TimeNanos, p.DurationNanos)
		}
		if !slices.Equal(p.Comments, []string{"the account"}) {
			t.Errorf("comments are %q", p.Comments)
		}
	}
	if p, err := Join([]*profile.Profile{a}); err != nil || p != a {
		t.Errorf("one recording is not itself: %v", err)
	}
	if _, err := Join([]*profile.Profile{a, part(0, 1, 1, "wall")}); err == nil {
		t.Error("recordings of different clocks are joined")
	}
}
