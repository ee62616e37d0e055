// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// In docs/report.md: runs a side, and standard deviations in % of the old total. The first two are of the total, found
// in 1 of 2 diffs and in 9 of 10; the others of one function of 20.
var powerRow = regexp.MustCompile(`(?m)^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$`)

// Deviations are rounded down to 0.1. Of 20,000 drawn diffs the share found has a standard error of 0.0035 at most; the
// seed is fixed.
func TestThePagesTableOfRunsIsThatOfTheDiff(t *testing.T) {
	page, err := os.ReadFile("../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := powerRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3", len(rows))
	}
	for _, row := range rows {
		runs, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{0.5, 0.9, 0.5, 0.9} {
			deviation, err := strconv.ParseFloat(row[2+i], 64)
			if err != nil {
				t.Fatal(err)
			}
			ofFunction := i >= 2
			found, beyond := foundShare(runs, deviation, ofFunction), foundShare(runs, deviation+0.1, ofFunction)
			if found < want-0.01 || beyond > want+0.01 {
				t.Errorf("%d runs, column %d: at a deviation of %.1f %% a share of %.3f is found, at %.1f %% of %.3f, want %v "+
					"between", runs, i+2, deviation, found, deviation+0.1, beyond, want)
			}
		}
	}
}

// foundShare is the share of diffs that find a growth by 5 % of the old total: of the total, or of a function with a
// twentieth of it.
func foundShare(runs int, deviation float64, ofFunction bool) float64 {
	const draws = 20_000
	c := &meanComparison{sums: sampleComparison{{runs: make([]*data, runs)}, {runs: make([]*data, runs)}}}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range draws {
		var values [2][]float64
		mean := 100.0
		if ofFunction {
			mean = 5
		}
		for side, growth := range []float64{0, 5} {
			for range runs {
				values[side] = append(values[side], mean+growth+deviation*rng.NormFloat64())
			}
		}
		v := c.compareMeans(values, 0)
		if !ofFunction {
			c.mark(&v, nil)
		} else {
			whole := ComparedValue{Old: 100, New: 105, errorIfEqual: 1}
			tested := []*ComparedValue{&v}
			for range 2*20 - 1 { // the other values of 20 functions
				tested = append(tested, &ComparedValue{Old: 5, New: 5, errorIfEqual: 1})
			}
			c.mark(&whole, tested)
		}
		if v.Significant {
			found++
		}
	}
	return float64(found) / draws
}
