// SPDX-License-Identifier: Apache-2.0

// Package tabular formats figures and names for columns: digits that the samples support, shortened names, terminal
// cells.
package tabular

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"prywalk/internal/base/printable"
)

type scale struct {
	per, from float64
	name      string
}

// NanosPer is the nanoseconds per unit of time.
var NanosPer = map[string]float64{"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9}

var (
	timeScales = []scale{{3600e9, 3600e9, "h"}, {60e9, 120e9, "min"}, {1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "µs"}}
	byteScales = []scale{{1 << 40, 1 << 40, "TiB"}, {1 << 30, 1 << 30, "GiB"}, {1 << 20, 1 << 20, "MiB"},
		{1 << 10, 1 << 10, "KiB"}}
)

// Format formats a value in its unit with three significant digits.
func Format(v int64, unit string) string {
	if f, ok := NanosPer[unit]; ok {
		return Nanos(int64(math.Min(float64(v)*f, math.MaxInt64/2)))
	}
	switch unit {
	case "bytes":
		return scaled(float64(v), byteScales, "B")
	case "count", "":
		return Thousands(v)
	}
	return Thousands(v) + " " + unit
}

// Nanos formats a duration in nanoseconds: 1.23s, 45.6ms.
func Nanos(ns int64) string {
	if ns == 0 {
		return "0s"
	}
	return scaled(float64(ns), timeScales, "ns")
}

func scaled(v float64, scales []scale, small string) string {
	for _, s := range scales {
		if math.Abs(v) >= s.from*0.9995 {
			f := v / s.per
			return fmt.Sprintf("%.*f%s", decimals(f), f, s.name)
		}
	}
	return fmt.Sprintf("%.0f%s", v, small)
}

// TrimFloat formats at most two decimals, without trailing zeros.
func TrimFloat(f float64) string { return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64) }

// Thousands formats a count with separators.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural returns a count and its noun.
func Plural(n int64, noun string) string { return Thousands(n) + " " + Noun(n, noun) }

// Noun returns a noun's form for a count.
func Noun(n int64, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "s"):
		return noun + "es"
	}
	return noun + "s"
}

// Form returns the form of a word, such as a verb, for a count.
func Form(n int, one, other string) string {
	if n == 1 {
		return one
	}
	return other
}

// List joins at most so many words: "a, b and 3 more".
func List(words []string, most int) string {
	if more := len(words) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), more)
	}
	return strings.Join(words, ", ")
}

// Printables makes a list printable, in place.
func Printables(list []string) []string {
	for i, s := range list {
		list[i] = printable.String(s)
	}
	return list
}

// Pad appends spaces up to a width in cells.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}
