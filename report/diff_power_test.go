// SPDX-License-Identifier: Apache-2.0

package report

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/base/statistics"
	"prywalk/internal/base/tabular"
)

var drawnDiffs = flag.Int("diffs", 20, "diffs that are drawn for each cell of the table in docs/report.md")

// drawnRuns are runs of a program of 20 functions that main calls, with 1,000 samples each.
type drawnRuns struct {
	*rand.Rand
	scatter float64 // between runs, a share of each function's time
}

const drawnFunctions, drawnSamples = 20, 1000

// drawn returns the functions' times in a run of which one, unless it is negative, grew by a share of the whole.
func (r drawnRuns) drawn(grown int, growth float64) (times [drawnFunctions]float64) {
	sum := 0.0
	for i := range times {
		sum += 1 / float64(i+1)
	}
	for i := range times {
		share := 1 / float64(i+1) / sum
		if i == grown {
			share += growth
		}
		times[i] = share*(1+r.scatter*r.NormFloat64()) + math.Sqrt(share*(1-min(share, 1))/drawnSamples)*r.NormFloat64()
	}
	return times
}

func (r drawnRuns) compare(runs, grown int, growth float64) *Difference {
	d := &Difference{}
	sums := sampleComparison{&d.old, &d.new}
	var wholes [2][]float64
	var times [2][][drawnFunctions]float64
	for i, s := range sums {
		s.runs, s.scale = make([]*data, runs), 1/float64(runs)
		s.precision = tabular.Precision{N: float64(drawnSamples * runs), Total: float64(runs)}
		for range runs {
			if i == 0 {
				times[i] = append(times[i], r.drawn(-1, 0))
			} else {
				times[i] = append(times[i], r.drawn(grown, growth))
			}
			whole := 0.0
			for _, t := range times[i][len(times[i])-1] {
				whole += t
			}
			wholes[i] = append(wholes[i], whole)
		}
	}
	c := &meanComparison{sums: sums}
	c.means = c.compareMeans(wholes, 0)
	d.Whole, d.test = c.means, c
	value := func(values [2][]float64) ComparedValue {
		sampling := sums.values(mean(values[0])*float64(runs), mean(values[1])*float64(runs)).errorIfEqual
		return c.compareMeans(values, sampling)
	}
	for f := range drawnFunctions {
		var values [2][]float64
		for i := range values {
			for _, run := range times[i] {
				values[i] = append(values[i], run[f])
			}
		}
		d.Changes = append(d.Changes, Change{Self: value(values)})
	}
	d.Changes = append(d.Changes, Change{Total: value(wholes)})
	c.mark(&d.Whole, d.Changes)
	return d
}

func mean(list []float64) (m float64) {
	for _, v := range list {
		m += v / float64(len(list))
	}
	return m
}

func (d *Difference) isEqual() bool {
	for i := range d.Changes {
		if d.Changes[i].Self.Significant || d.Changes[i].Total.Significant {
			return false
		}
	}
	return !d.Whole.Significant
}

// In docs/report.md: runs a side, the scatter, and in % of the diffs: those that show a change where nothing changed,
// and those that find a growth by 5, 10 and 20 % of the old total.
var powerRow = regexp.MustCompile(`(?m)^\| (\d+) \| (\d+) % \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$`)

// The page has figures of -diffs 1000, those without growth of 4000. Of fewer, a cell's count has a probability below
// 10⁻⁹ if it fails; the seed is fixed.
func TestThePagesTableOfRunsIsThatOfTheDiff(t *testing.T) {
	page, err := os.ReadFile("../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := powerRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 6", len(rows))
	}
	for _, row := range rows {
		var cells [6]float64
		for i := range cells {
			if cells[i], err = strconv.ParseFloat(row[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		runs, r := int(cells[0]), drawnRuns{rand.New(rand.NewPCG(1, 2)), cells[1] / 100}
		if cells[2] > 5 {
			t.Errorf("%s: over 5 %% of diffs of equal programs show a change", row[0])
		}
		for i, growth := range []float64{0, 0.05, 0.1, 0.2} {
			found := r.found(*drawnDiffs, runs, growth)
			t.Logf("%d runs, %g %%, growth %g: %.1f", runs, cells[1], growth, 100*float64(found)/float64(*drawnDiffs))
			if p := (cells[2+i] + 0.1) / 100.2; binomialTail(found, *drawnDiffs, p) < 1e-9 {
				t.Errorf("%s: growth by %g: %d of %d found", row[0], growth, found, *drawnDiffs)
			}
		}
	}
}

func (r drawnRuns) found(diffs, runs int, growth float64) (n int) {
	for i := range diffs {
		d := r.compare(runs, i%4, growth)
		if growth > 0 && d.Changes[i%4].Self.Significant || growth == 0 && !d.isEqual() {
			n++
		}
	}
	return n
}

// binomialTail is the probability of k or fewer, or of k or more, of n, the smaller one.
func binomialTail(k, n int, p float64) float64 {
	logFactorial := func(n int) float64 {
		v, _ := math.Lgamma(float64(n + 1))
		return v
	}
	low, high := 0.0, 0.0
	for i := range n + 1 {
		term := math.Exp(logFactorial(n) - logFactorial(i) - logFactorial(n-i) + float64(i)*math.Log(p) +
			float64(n-i)*math.Log(1-p))
		if i <= k {
			low += term
		}
		if i >= k {
			high += term
		}
	}
	return min(low, high)
}

// The test fails with a probability below 10⁻⁹ if 9 of 10 are found; the seed is fixed.
func TestAGrowthThatADiffSaysItFindsIsFound(t *testing.T) {
	for _, runs := range []int{3, 5} {
		r, found := drawnRuns{rand.New(rand.NewPCG(3, 4)), 0.03}, 0
		for range *drawnDiffs {
			least, _ := r.compare(runs, -1, 0).test.leastFound(nil, [2]int{runs, runs})
			if r.compare(runs, 0, least).Changes[0].Self.Significant {
				found++
			}
		}
		t.Logf("%d runs: %d of %d found", runs, found, *drawnDiffs)
		if binomialTail(found, *drawnDiffs, 0.9) < 1e-9 {
			t.Errorf("%d runs: %d of %d found, want 9 of 10", runs, found, *drawnDiffs)
		}
	}
}

// In docs/report.md: how much the totals may differ if a growth of 5 % is to be found.
func TestThePageSaysHowMuchTotalsMayDiffer(t *testing.T) {
	page, err := os.ReadFile("../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	var differ []any
	for _, runs := range []int{3, 5, 10} {
		n := 2*runs - 2
		t := reach(statistics.StudentBound(statistics.SignificanceLevel/2, n), 0, n)
		differ = append(differ, 5/(t*math.Sqrt(inverses([2]int{runs, runs}))))
	}
	want := fmt.Sprintf("differ by %.1f %% (3 runs a side), %.1f %% (5) or %.1f %% (10)", differ...)
	if text := strings.Join(strings.Fields(string(page)), " "); !strings.Contains(text, want) {
		t.Errorf("the page lacks %q", want)
	}
}
