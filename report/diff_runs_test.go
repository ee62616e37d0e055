// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// A run has sampling error, a factor shared by all functions, and one of each.
func noisy(t *testing.T, rng *rand.Rand, mean map[uint64]float64, shared, own float64) *profile.Profile {
	t.Helper()
	all, ticks := 1+shared*rng.NormFloat64(), map[uint64]int64{}
	addrs := make([]uint64, 0, len(mean))
	for addr := range mean {
		addrs = append(addrs, addr)
	}
	slices.Sort(addrs)
	for _, addr := range addrs {
		m := mean[addr] * all * (1 + own*rng.NormFloat64())
		if n := int64(math.Round(m + math.Sqrt(max(m, 0))*rng.NormFloat64())); n > 0 {
			ticks[addr] = n
		}
	}
	return ticked(t, 10, ticks)
}

var usual = map[uint64]float64{0x20: 500, 0x30: 250, 0x40: 130, 0x50: 60, 0x60: 30, 0x70: 12}

func drawn(t *testing.T, rng *rand.Rand, n int, mean map[uint64]float64, shared, own float64) (all []*profile.Profile) {
	t.Helper()
	for range n {
		all = append(all, noisy(t, rng, mean, shared, own))
	}
	return all
}

// Runs differ by 6 %.
func TestEqualRunsHardlyDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pairs := testtargets.Times(100, 400)
	for _, c := range []struct{ before, after int }{{3, 3}, {2, 4}} {
		differ, fail := 0, 0
		for range pairs {
			a, b := drawn(t, rng, c.before, usual, 0.06, 0.04), drawn(t, rng, c.after, usual, 0.06, 0.04)
			d, err := DiffRuns(a, b, DiffOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found := func(c Change) bool { return c.Self.Significant || c.Total.Significant }
			if d.Whole.Significant || slices.ContainsFunc(d.Changes, found) {
				differ++
			}
			if worst, _ := d.LargestGrowth(); worst > 0.05 {
				fail++
			}
		}
		t.Logf("%d and %d runs: %.1f %% differ, %.1f %% fail --fail-above 5%%", c.before, c.after,
			100*float64(differ)/float64(pairs), 100*float64(fail)/float64(pairs))
		if share := float64(differ) / float64(pairs); share > mostThatDiffer(pairs) {
			t.Errorf("%d and %d runs: %.1f %% of comparisons of equal programs differ", c.before, c.after, 100*share)
		}
	}
	for range pairs {
		d, err := DiffRuns(drawn(t, rng, 1, usual, 0.2, 0), drawn(t, rng, 1, usual, 0.2, 0), DiffOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, subject := d.LargestGrowth(); d.Whole.Significant || strings.HasPrefix(subject, "the total") {
			t.Fatalf("one run a side: the sum %+v is judged: %s", d.Whole, subject)
		}
	}
}

func TestSeveralRunsFindWhatGrew(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	slower := map[uint64]float64{0x20: 500, 0x30: 250, 0x40: 400, 0x50: 60, 0x60: 30, 0x70: 12}
	found := 0
	const pairs = 100
	for range pairs {
		d, err := DiffRuns(drawn(t, rng, 5, usual, 0.02, 0.02), drawn(t, rng, 5, slower, 0.02, 0.02), DiffOptions{})
		if err != nil {
			t.Fatal(err)
		}
		share, what := d.LargestGrowth()
		if share > 0.15 && strings.Contains(what, "self time of "+d.Changes[0].Name) && d.Changes[0].Self.Significant {
			found++
		}
		if strings.HasPrefix(what, "clone3") || strings.HasPrefix(what, "main") {
			t.Errorf("an outer function is named: %s", what)
		}
	}
	if found < 95 {
		t.Errorf("%d of %d comparisons found it", found, pairs)
	}
}

func TestFiguresOfSeveralRunsAreMeans(t *testing.T) {
	runs := func(ticks ...int64) (all []*profile.Profile) {
		for _, n := range ticks {
			all = append(all, ticked(t, 10, map[uint64]int64{0x20: n, 0x40: 100}))
		}
		return all
	}
	d, err := DiffRuns(runs(100, 102, 98), runs(200, 204, 196), DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.of("serve")
	if c.Self.Old != 1e9 || c.Self.New != 2e9 || d.Whole.Old != 2e9 || d.Whole.New != 3e9 || !d.Whole.Significant {
		t.Errorf("%+v, whole %+v", c.Self, d.Whole)
	}
	var b bytes.Buffer
	if err := d.Table(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cpu 2.00s → 3.00s (+50.0%)", "sum of 3 runs", "Means of 3 runs and 3 runs"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &b)
		}
	}
	b.Reset()
	var got struct{ Runs []int }
	if err := d.JSON(&b); err != nil || json.Unmarshal(b.Bytes(), &got) != nil || !slices.Equal(got.Runs, []int{3, 3}) {
		t.Errorf("%v %s", err, &b)
	}
	for _, per := range []string{"second", "share"} {
		d, err := DiffRuns(runs(100, 102, 98), runs(100, 99, 101), DiffOptions{Per: per})
		want := map[string]float64{"second": 0.2e9, "share": 1}[per]
		if err != nil || math.Abs(d.Whole.Old/want-1) > 0.02 {
			t.Errorf("per %s: %v, whole %+v, want %v", per, err, d.Whole, want)
		}
	}
	if d := compared(t, runs(100)[0], runs(300)[0], DiffOptions{}); !strings.Contains(d.test.note(), "One run per side") {
		t.Errorf("one run a side: %s", d.test.note())
	}
}

func TestUnequalNumbersOfRunsAreNoDifferentLength(t *testing.T) {
	runs := func(seconds ...int64) (all []*profile.Profile) {
		for _, n := range seconds {
			all = append(all, ticked(t, n, map[uint64]int64{0x20: 100}))
		}
		return all
	}
	for _, c := range []struct {
		before, after []*profile.Profile
		differ        bool
	}{
		{runs(10, 10, 10), runs(10), false}, {runs(10), runs(10, 10, 10), false}, {runs(10, 20), runs(20, 10), false},
		{runs(10, 10, 10), runs(30), true}, {runs(10, 10, 10), runs(20, 20, 20), true},
	} {
		d, err := DiffRuns(c.before, c.after, DiffOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.mismatch() != ""; got != c.differ {
			t.Errorf("%d and %d runs, of %v and %v ns on average: said to differ in length %v, want %v", len(c.before),
				len(c.after), d.old.meanDuration(), d.new.meanDuration(), got, c.differ)
		}
	}
}

func TestAllFormsJoinTheSameFunctions(t *testing.T) {
	for name, addrs := range map[string]map[uint64]int64{
		"named": {0x20: 400, 0x40: 100}, "unnamed": {0x20: 400, 0x900: 100},
	} {
		old, later := ticked(t, 10, addrs), ticked(t, 10, addrs)
		for _, m := range later.Mapping {
			m.File = strings.Replace(m.File, "kvd", "storage-2", 1)
		}
		d := compared(t, old, later, DiffOptions{})
		joined := d.joinedData()
		values := map[string][2]int64{}
		for _, s := range joined.Profile.Sample {
			f := joined.Table.Frames[joined.Table.Stack(s)[0]]
			v := values[f.Name+" "+f.Module]
			values[f.Name+" "+f.Module] = [2]int64{v[0] + s.Value[1], v[1] + s.Value[0]}
		}
		for i := range d.Changes {
			c := &d.Changes[i]
			v := values[c.Name+" "+c.Module]
			if float64(v[0]) != c.Self.Old || float64(v[1]) != c.Self.New || c.Total.Old != c.Total.New {
				t.Errorf("%s: %s of %s: the table has %v and %v, the page %v", name, c.Name, c.Module, c.Self.Old,
					c.Self.New, v)
			}
		}
		var folded bytes.Buffer
		if err := d.Folded(&folded); err != nil || strings.Contains(folded.String(), " 0\n") {
			t.Errorf("%s: %v: a stack is in one recording only:\n%s", name, err, &folded)
		}
	}
}
