// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"math"
	"reflect"
	"testing"
)

func TestFigures(t *testing.T) {
	for _, c := range []struct {
		v          int64
		unit, want string
	}{
		{0, "nanoseconds", "0s"}, {999, "nanoseconds", "999ns"}, {-1500, "nanoseconds", "-1.50µs"},
		{1234567, "nanoseconds", "1.23ms"}, {12345678, "nanoseconds", "12.3ms"}, {999499999, "nanoseconds", "999ms"},
		{999500000, "nanoseconds", "1.00s"}, {119e9, "nanoseconds", "119s"}, {120e9, "nanoseconds", "2.00min"},
		{3600e9, "nanoseconds", "1.00h"}, {7, "milliseconds", "7.00ms"}, {7, "seconds", "7.00s"}, {7, "microseconds",
			"7.00µs"},
		{math.MaxInt64, "seconds", "1281024h"}, {1023, "bytes", "1023B"}, {1024, "bytes", "1.00KiB"}, {5 << 20, "bytes",
			"5.00MiB"},
		{3 << 30, "bytes", "3.00GiB"}, {1 << 41, "bytes", "2.00TiB"}, {1234567, "count", "1,234,567"}, {-999, "", "-999"},
		{-1000, "", "-1,000"}, {12, "", "12"}, {123456, "", "123,456"}, {1000, "objects", "1,000 objects"},
	} {
		if got := Format(c.v, c.unit); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
	for f, want := range map[float64]string{1: "1", 1.5: "1.5", 0.126: "0.13", 1e7: "10000000", -0.5: "-0.5"} {
		if got := TrimFloat(f); got != want {
			t.Errorf("%v: %q, want %q", f, got, want)
		}
	}
}

func TestCountsAndTheirNouns(t *testing.T) {
	for _, c := range []struct {
		n          int64
		noun, want string
	}{
		{0, "thread", "0 threads"}, {1, "thread", "1 thread"}, {2, "thread", "2 threads"}, {1, "process", "1 process"},
		{1000, "process", "1,000 processes"},
	} {
		if got := Plural(c.n, c.noun); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.noun, got, c.want)
		}
	}
	words := []string{"a", "b", "c"}
	for most, want := range map[int]string{1: "a and 2 more", 2: "a, b and 1 more", 3: "a, b, c", 4: "a, b, c"} {
		if got := List(words, most); got != want {
			t.Errorf("at most %d: %q, want %q", most, got, want)
		}
	}
	if got := Printables([]string{"a\x1b[m", "b"}); !reflect.DeepEqual(got, []string{`a\x1b[m`, "b"}) {
		t.Errorf("%q", got)
	}
}

// The margins are those of Wilson's interval, rounded up.
func TestFiguresHaveTheDigitsThatTheSamplesSupport(t *testing.T) {
	p := Precision{N: 2500, Total: 1e9}
	for _, c := range []struct {
		p             Precision
		v             int64
		share, within string
		value, unit   string
	}{
		{p, 123456789, "12.3%", "±1.4", "123ms", "nanoseconds"},
		{p, 1e9, "100%", "±0.16", "1.00s", "nanoseconds"},
		{p, 0, "0%", "±0.16", "0s", "nanoseconds"},
		{p, 50, "0.00%", "±0.16", "50ns", "nanoseconds"},
		{Precision{N: 4, Total: 1e9}, 123456789, "12%", "±48", "100ms", "nanoseconds"},
		{Precision{Total: 1e9}, 123456789, "12.35%", "", "123ms", "nanoseconds"},
		{Precision{N: 4}, 7, "0%", "", "7ns", "nanoseconds"},
		{p, 1234567, "0.12%", "±0.24", "1,234,567", "count"},
	} {
		if share, within, value := c.p.Share(c.v), c.p.Within(c.v), c.p.Value(c.v, c.unit); share != c.share ||
			within != c.within ||
			value != c.value {
			t.Errorf("%d of %+v: %q, %q, %q; want %q, %q, %q", c.v, c.p, share, within, value, c.share, c.within, c.value)
		}
	}
}

func TestEffectiveNumberOfSamples(t *testing.T) {
	var e Effective
	if e.N() != 1 {
		t.Errorf("of none: %v, want 1", e.N())
	}
	e.Add(100, 10)
	e.Add(100, 0) // not sampled
	if e.N() != 10 {
		t.Errorf("of ten equal samples: %v", e.N())
	}
	e.Add(100, 10)
	if e.N() != 20 {
		t.Errorf("of twenty equal samples: %v", e.N())
	}
	e.Add(0, 1000)
	if e.N() != 20 {
		t.Errorf("with samples without time: %v, want 20", e.N())
	}
}

func TestSharesAreAlignedAtTheirPoints(t *testing.T) {
	got := Aligned([]string{"100%", "12.35%", "1.2%"})
	if want := []string{"100%   ", "12.35%", "1.2% "}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestColumnsShareTheWidthThatFiguresLeave(t *testing.T) {
	for _, c := range []struct {
		width, figures, name, module int
		want                         Columns
	}{
		{0, 20, 50, 9, Columns{50, 9}},
		{0, 20, 5000, 9, Columns{1 << 12, 9}},
		{71, 20, 60, 9, Columns{51, 0}},      // too narrow for modules
		{71, 20, 30, 9, Columns{30, 0}},      // no wider than the names
		{30, 20, 60, 0, Columns{16, 0}},      // the least width
		{100, 20, 60, 0, Columns{60, 0}},     // no modules
		{100, 20, 60, 9, Columns{60, 9}},     // all fit
		{100, 20, 60, 40, Columns{52, 26}},   // a third for modules
		{100, 20, 40, 40, Columns{40, 38}},   // what names leave
		{200, 20, 170, 40, Columns{146, 32}}, // at most 32
		{100, 80, 60, 40, Columns{16, 10}},   // at least 10
		{100, 20, 60, 5, Columns{60, 5}},     // not wider than the modules
		{72, 20, 60, 20, Columns{34, 16}},    // just wide enough
	} {
		if got := FitColumns(c.width, c.figures, c.name, c.module); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestTextIsWrappedBetweenItsParts(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{string(Wrap(0, ", ", "one", "two", "three")), "one, two, three"},
		{string(Wrap(9, ", ", "one", "two", "three")), "one, two,\nthree"},
		{string(Wrap(8, ", ", "one", "two", "three")), "one,\ntwo,\nthree"},
		{string(Wrap(10, ", ", "one", "two")), "one, two"},
		{string(Wrap(3, ", ", "three")), "three"},
		{string(Wrap(0, ", ", "a\x1b")), `a\x1b`},
		{string(Paragraph(11, "  ", "one two three four")), "one two\n  three\n  four"},
		{string(Paragraph(0, "  ", "one  two")), "one  two"},
		{string(HangingIndent(11, 4, "one two three")), "one two\n    three"},
		{Cut("one two", 7), "one two"}, {Cut("one two", 6), "one t…"}, {Cut("one… two", 5), "one…"},
		{Pad("one", 5), "one  "}, {Pad("one", 2), "one"}, {Pad("計", 3), "計 "},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if got := AlignRight([]string{"a", "計"}, 3); !reflect.DeepEqual(got, []string{"  a", " 計"}) {
		t.Errorf("%q", got)
	}
	if got := AlignRight([]string{"a", "1234"}, 3); !reflect.DeepEqual(got, []string{"   a", "1234"}) {
		t.Errorf("%q", got)
	}
	if got := PrintedWidth("a\x1b"); got != 5 {
		t.Errorf("%d, want 5", got)
	}
}
