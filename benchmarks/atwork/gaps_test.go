// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestGapsAreWhatIsLong(t *testing.T) {
	var a, b gaps
	if !strings.Contains(a.String(), "no processor") {
		t.Error(a.String())
	}
	at := int64(1e9)
	for _, d := range []int64{50, 262_144, 262_145, 3e6, 90} {
		a.see(at, at+d)
		at += d
	}
	b.see(0, 2e9-a.watched)
	b.lengths = nil
	a.add(&b)
	want := "over 262 µs 1.0 times a second (0.16 % of its time, 3.0 ms at most; 2 s watched): a stop of 70 µs on " +
		"two such processors meets that with 0.01 %."
	if len(a.lengths) != 2 || !strings.Contains(a.String(), want) {
		t.Errorf("%v: %s", a.lengths, &a)
	}
}

func TestLateStopsAreReportedWhereThereAreSome(t *testing.T) {
	one, two := made("one", compiled, 1, 1), made("two", compiled, 1, 1)
	two.Now.Stats.LateStops = longStopsOf{N: 3, MaxUS: 4200}
	if got := one.Now.Stats.lateStops() + ";" + two.Now.Stats.lateStops(); got != ";3, 4.2 ms" {
		t.Error(got)
	}
}
