package report

import (
	"fmt"
	"math"
	"strings"

	rec "prywalk/internal/profile"
)

// precision says how many digits a figure bears. A share p of n samples has the standard error √(p(1−p)/n), of the
// binomial distribution; the last digit shown is the first one of that error. The zero value shows what format shows.
type precision struct {
	n     float64 // samples; 0 if the profile does not tell
	total float64 // of the values
}

// precision is that of the chosen values.
func (d *data) precision() precision {
	p := precision{total: float64(d.total(d.value))}
	count, ok := d.has(rec.TypeSamples)
	if !ok || d.prof.SampleType[count].Unit != "count" || p.total <= 0 {
		return p
	}
	for _, s := range d.prof.Sample {
		if s.Value[d.value] != 0 {
			p.n += float64(s.Value[count])
		}
	}
	return p
}

// err is the standard error of a share, 0 if it is not known. It is never less than half a sample's share: also of
// what was not met, or met always, there is an error.
func (p precision) err(share float64) float64 {
	if p.n == 0 {
		return 0
	}
	return math.Sqrt(max(share*(1-share), 0.25/p.n) / p.n)
}

// decade gives the power of ten that the first digit of an error stands for.
func decade(err float64) int { return int(math.Floor(math.Log10(err) + 1e-9)) }

// share writes v as a part of all, in per cent.
func (p precision) share(v int64) string {
	if p.total == 0 || v == 0 {
		return "0%"
	}
	share, digits := float64(v)/p.total, 2
	switch e := p.err(share); {
	case v == int64(p.total):
		digits = 0
	case e > 0:
		digits = min(max(-decade(100*e), 0), 2)
	}
	return fmt.Sprintf("%.*f%%", digits, 100*share)
}

// value writes v in its unit. Counts are shown whole.
func (p precision) value(v int64, unit string) string {
	per, ok := nanosPer[unit]
	if !ok || v == 0 || p.n == 0 || p.total <= 0 {
		return format(v, unit)
	}
	ns := float64(v) * per
	step := math.Pow10(decade(p.err(float64(v)/p.total) * p.total * per))
	for step > math.Abs(ns) { // one digit is always shown
		step /= 10
	}
	ns = math.Round(ns/step) * step
	for _, s := range timeScales {
		if math.Abs(ns) >= s.from*0.9995 {
			f := ns / s.per
			return fmt.Sprintf("%.*f%s", min(max(-decade(step/s.per), 0), decimals(f)), f, s.name)
		}
	}
	return fmt.Sprintf("%.0fns", ns)
}

// decimals gives the number that makes three digits.
func decimals(f float64) int {
	switch a := math.Abs(f); {
	case a >= 99.95:
		return 0
	case a >= 9.995:
		return 1
	}
	return 2
}

// aligned puts blanks behind shares, so that their decimal points stand below each other.
func aligned(shares []string) []string {
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

// fraction is how many characters of a share are its point and what follows it.
func fraction(s string) int {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return len(s) - i - len("%")
	}
	return 0
}
