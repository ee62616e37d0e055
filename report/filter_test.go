// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

func TestSleepersAreShownByWallTime(t *testing.T) {
	p := wideFixture(t)
	for _, c := range []struct {
		o     Options
		clock string
	}{
		{Options{}, "cpu"},
		{Options{Wait: "futex"}, "wall"},
		{Options{State: "sleeping"}, "wall"},
		{Options{State: "^sleeping$|disk"}, "wall"},
		{Options{State: "running"}, "cpu"},
		{Options{State: "^running$"}, "cpu"},
		{Options{State: "running|sleeping"}, "cpu"},
		{Options{Wait: "futex", Value: "samples"}, "samples"},
	} {
		c.o.Width = 120
		if got := render(t, Table, p, c.o); !strings.Contains(got, "function ("+c.clock+")") {
			t.Errorf("%+v is not by %s:\n%s", c.o, c.clock, got)
		}
	}
}

func TestWhatPeopleNeedOfAnAccountComesFirst(t *testing.T) {
	for _, c := range []struct {
		comment, text, more string
	}{
		{"prywalk: 99 looks a second (a; b) | 298 ticks; cpu 1 s; fifo", "99 looks a second (a; b)",
			"298 ticks|cpu 1 s|fifo"},
		{"prywalk: 298 ticks; fifo", "recording details", "298 ticks|fifo"}, // of earlier releases
		{"made by another; a | b", "made by another; a | b", ""},
	} {
		if r := newPageComment(c.comment); r.Text != c.text || strings.Join(r.More, "|") != c.more {
			t.Errorf("%q: %q, %q", c.comment, r.Text, r.More)
		}
	}
}
