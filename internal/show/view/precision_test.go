// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"math"
	"testing"

	rec "prywalk/internal/store/profile"
)

// Kish: N = (Σ v)² ÷ Σ (v² ÷ count of the sample).
func TestPrecisionIsOfTheEffectiveNumberOfSamples(t *testing.T) {
	for what, c := range map[string]struct {
		samples [][2]int64
		n       float64
		counted int64
	}{
		"equal ones":           {[][2]int64{{1, 5}, {1, 5}, {1, 5}, {1, 5}}, 4, 4},
		"a sum of ten":         {[][2]int64{{10, 50}}, 10, 10},
		"unequal ones":         {[][2]int64{{10, 10}, {1, 10}}, 400.0 / 110, 11},
		"one that has it all":  {[][2]int64{{1, 1e9}, {1000, 1}}, 1, 1001},
		"without values":       {[][2]int64{{7, 0}, {2, 10}}, 2, 2},
		"a value not sampled":  {[][2]int64{{0, 1000}, {2, 10}}, 2, 2},
		"a value of no sample": {[][2]int64{{0, 1000}}, 1, 0},
	} {
		r := newRecording(rec.TypeSamples, rec.TypeCPU)
		total := int64(0)
		for _, s := range c.samples {
			r.add("f", s[0], s[1])
			total += s[1]
		}
		got := r.selection().PrecisionOf(1)
		if math.Abs(got.N-c.n) > 1e-6*c.n || got.Samples != c.counted || got.Total != float64(total) {
			t.Errorf("%s: %+v, want N %v of %d samples, total %d", what, got, c.n, c.counted, total)
		}
	}
}

// As in designeffect_test.go, the effect is 2 · 8.
func TestPrecisionIsDividedByTheDesignEffect(t *testing.T) {
	got := blockRecording(repeated("fg", 40), 8).selection().PrecisionOf(1)
	if want := 40.0 * 8 / (2 * 8); math.Abs(got.N-want) > 1e-9*want || got.Samples != 320 {
		t.Errorf("%+v, want N %v of 320 samples", got, want)
	}
}

func TestPrecisionIsUnknownWithoutCounts(t *testing.T) {
	for what, r := range map[string]*recording{
		"no type":      newRecording("other", rec.TypeCPU),
		"another unit": newRecording(rec.TypeSamples, rec.TypeCPU),
		"no values":    newRecording(rec.TypeSamples, rec.TypeCPU),
	} {
		r.SampleType[0].Unit = map[string]string{"another unit": "bytes"}[what]
		value := int64(7)
		if what == "no values" {
			r.SampleType[0].Unit, value = "count", 0
		}
		r.add("f", 1, value)
		if got := r.selection().PrecisionOf(1); got.N != 0 || got.Samples != 0 || got.Total != float64(value) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestWholePrecisionIsOfANamedType(t *testing.T) {
	r := newRecording(rec.TypeSamples, rec.TypeCPU, rec.TypeWall)
	r.add("f", 1, 10, 100)
	r.add("f", 3, 30, 0)
	for value, want := range map[string]float64{rec.TypeCPU: 4, rec.TypeWall: 1} {
		got, err := WholePrecision(&r.Profile, value)
		if err != nil || math.Abs(got.N-want) > 1e-9 {
			t.Errorf("%s: %+v, %v, want N %v", value, got, err, want)
		}
	}
	if _, err := WholePrecision(&r.Profile, "heap"); !errors.Is(err, ErrValue) {
		t.Errorf("a type that it does not have: %v", err)
	}
}
