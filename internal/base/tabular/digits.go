// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"fmt"
	"math"
	"strings"

	"prywalk/internal/base/statistics"
)

// Precision limits digits: the last shown one is in the place of the first digit of the standard error √(p(1−p)/n)
// (binomial distribution). The zero value formats values as [Format] does.
type Precision struct {
	N       float64 // effective number of samples; 0 means unknown
	Total   float64
	Samples int64 // those with a value, each counted
}

// Effective is Kish's effective sample size: a thread that slept long and ran briefly has many samples and little time.
// Time without samples does not count.
type Effective struct{ sum, squares float64 }

// Add adds a value with its number of samples.
func (e *Effective) Add(v, samples int64) {
	if samples > 0 {
		e.sum += float64(v)
		e.squares += float64(v) * float64(v) / float64(samples)
	}
}

// N returns the effective number of samples, at least 1.
func (e *Effective) N() float64 {
	if e.squares == 0 {
		return 1
	}
	return max(1, e.sum*e.sum/e.squares)
}

// Err is a share's standard error, at least half a sample's, or 0 if it is unknown.
func (p Precision) Err(share float64) float64 {
	if p.N == 0 {
		return 0
	}
	return math.Sqrt(max(share*(1-share), 0.25/p.N) / p.N)
}

// Margin is the longer side of a share's 95 % interval ([statistics.Wilson]), or 0 if it is unknown.
func (p Precision) Margin(share float64) float64 {
	if p.N == 0 {
		return 0
	}
	share = min(max(share, 0), 1)
	low, high := statistics.Wilson(share*p.N, p.N)
	return max(share-low, high-share)
}

// Within formats v's margin in per cent, rounded up at the last digit of [Precision.Share].
func (p Precision) Within(v int64) string {
	if p.N == 0 || p.Total == 0 {
		return ""
	}
	share := float64(v) / p.Total
	digits := p.digits(share)
	step := math.Pow10(-digits)
	return fmt.Sprintf("±%.*f", digits, math.Ceil(100*p.Margin(share)/step-1e-9)*step)
}

func (p Precision) digits(share float64) int {
	if e := p.Err(share); e > 0 {
		return min(max(-decimalExponent(100*e), 0), 2)
	}
	return 2
}

func decimalExponent(err float64) int { return int(math.Floor(math.Log10(err) + 1e-9)) }

// Share formats v as a part of Total, in per cent.
func (p Precision) Share(v int64) string {
	if p.Total == 0 || v == 0 {
		return "0%"
	}
	share := float64(v) / p.Total
	digits := p.digits(share)
	if v == int64(p.Total) {
		digits = 0
	}
	return fmt.Sprintf("%.*f%%", digits, 100*share)
}

// Value formats v in its unit; counts in full.
func (p Precision) Value(v int64, unit string) string {
	per, ok := NanosPer[unit]
	if !ok || v == 0 || p.N == 0 || p.Total <= 0 {
		return Format(v, unit)
	}
	ns := float64(v) * per
	step := math.Pow10(decimalExponent(p.Err(float64(v)/p.Total) * p.Total * per))
	for step > math.Abs(ns) { // at least one digit
		step /= 10
	}
	ns = math.Round(ns/step) * step
	for _, s := range timeScales {
		if math.Abs(ns) >= s.from*0.9995 {
			f := ns / s.per
			return fmt.Sprintf("%.*f%s", min(max(-decimalExponent(step/s.per), 0), decimals(f)), f, s.name)
		}
	}
	return fmt.Sprintf("%.0fns", ns)
}

func decimals(f float64) int {
	switch a := math.Abs(f); {
	case a >= 99.95:
		return 0
	case a >= 9.995:
		return 1
	}
	return 2
}

// Aligned pads shares to align decimal points.
func Aligned(shares []string) []string {
	most := 0
	for _, s := range shares {
		most = max(most, fraction(s))
	}
	out := make([]string, len(shares))
	for i, s := range shares {
		out[i] = s + strings.Repeat(" ", most-fraction(s))
	}
	return out
}

func fraction(s string) int {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return len(s) - i - len("%")
	}
	return 0
}
