package report

import (
	"strings"
	"testing"
)

// TestSleepersAreShownByWallTime: they use no processor, so that by CPU time there is nothing to see.
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
