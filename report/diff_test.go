// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
)

func ticked(t *testing.T, seconds int64, ticks map[uint64]int64) *profile.Profile {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 10_000_000, Main: app})
	for addr, n := range ticks {
		i := rec.Interval{PID: 7, TID: 7, Comm: "kvd", State: "running", Samples: n, Wall: n * 10e6, CPU: n * 10e6}
		i.End, i.Stack = start.UnixNano()+seconds*1e9, b.Intern(at(app, addr, 0x10))
		b.Add(i)
	}
	p := parsed(t, b, fixtureNames)
	p.DurationNanos = seconds * 1e9
	return p
}

func compared(t *testing.T, a, b *profile.Profile, o DiffOptions) *Difference {
	t.Helper()
	d, err := Diff(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *Difference) of(name string) *Change {
	for i := range d.Changes {
		if d.Changes[i].Name == name {
			return &d.Changes[i]
		}
	}
	return &Change{}
}

func TestWhatBecameSlowerIsFirst(t *testing.T) {
	old := ticked(t, 10, map[uint64]int64{0x20: 400, 0x40: 400, 0x60: 200})
	later := ticked(t, 10, map[uint64]int64{0x20: 700, 0x40: 100, 0x60: 205, 0x70: 300})
	d := compared(t, old, later, DiffOptions{})
	var b bytes.Buffer
	if err := d.Table(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"cpu 10.0s → 13.1s (+30.5%)", "+3.00s", "-3.00s", "changed by what they call"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	serve, visit, compress := strings.Index(got, "serve"), strings.Index(got, "visit"), strings.Index(got, "compress")
	slower, faster := strings.Index(got, "slower"), strings.Index(got, "faster")
	if slower > serve || serve > faster || visit > faster || compress < faster {
		t.Errorf("slower at %d, serve %d, visit %d, faster %d, compress %d:\n%s", slower, serve, visit, faster, compress, got)
	}
	if strings.Contains(got, "walk") { // 5 of 200 more ticks are noise
		t.Errorf("what the error explains is shown:\n%s", got)
	}
	if share, name := d.LargestGrowth(); share < 0.299 || share > 0.301 || name != "self time of serve" {
		t.Errorf("worst %v, %q", share, name)
	}
	d.opts.All = true
	b.Reset()
	if err := d.Table(&b); err != nil || !strings.Contains(b.String(), "walk") {
		t.Errorf("%v: --all lacks walk:\n%s", err, b.String())
	}
}

// All functions took 9 % longer, far beyond the sampling error.
func TestAnInsignificantChangeIsNotCalledSamplingNoise(t *testing.T) {
	old := ticked(t, 10, map[uint64]int64{0x20: 100_000, 0x40: 100_000})
	x := compared(t, old, ticked(t, 10, map[uint64]int64{0x20: 109_000, 0x40: 109_000}), DiffOptions{})
	var table, page strings.Builder
	if err := errors.Join(x.Table(&table), x.HTML(&page)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "No significant change;") {
		t.Errorf("table:\n%s", table.String())
	}
	if !strings.Contains(page.String(), "grey is not significant. ") {
		t.Error("the page does not call grey changes insignificant")
	}
	if strings.Contains(table.String()+page.String(), "within sampling") {
		t.Error("they are called sampling noise")
	}
}

func TestRecordingsOfDifferentLengthAreComparedBySecondOrShare(t *testing.T) {
	old := ticked(t, 10, map[uint64]int64{0x20: 400, 0x40: 400})
	later := ticked(t, 20, map[uint64]int64{0x20: 800, 0x40: 800})
	if d := compared(t, old, later, DiffOptions{}); !d.of("serve").Self.Significant ||
		!strings.Contains(d.mismatch(), "--per") {
		t.Errorf("per run: %+v, %q", d.of("serve"), d.mismatch())
	}
	for _, per := range []string{"second", "share"} {
		d := compared(t, old, later, DiffOptions{Per: per})
		if share, name := d.LargestGrowth(); share != 0 || d.of("serve").Self.Delta() != 0 || d.mismatch() != "" {
			t.Errorf("per %s: worst %v %s, %+v", per, share, name, d.of("serve"))
		}
	}
	if _, err := Diff(old, later, DiffOptions{Per: "minute"}); !errors.Is(err, ErrNormalization) {
		t.Errorf("per minute: %v", err)
	}
	old.DurationNanos = 0
	if _, err := Diff(old, later, DiffOptions{Per: "second"}); err == nil ||
		!strings.Contains(err.Error(), "the old recording") {
		t.Errorf("of unknown length: %v", err)
	}
}

// mostThatDiffer is the share of pairs of equal recordings that may have a significant change: 3.2 standard errors
// above the error rate of 5 %.
func mostThatDiffer(pairs int) float64 { return 0.05 + 3.2*math.Sqrt(0.05*0.95/float64(pairs)) }

func TestOneLoadTwiceHardlyDiffers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) *profile.Profile {
		addrs, ticks := []uint64{0x20, 0x30, 0x40, 0x50, 0x60, 0x70}, map[uint64]int64{}
		for range n {
			i := 0
			for i < len(addrs)-1 && rng.IntN(2) > 0 {
				i++
			}
			ticks[addrs[i]]++
		}
		return ticked(t, 10, ticks)
	}
	pairs := testtargets.Times(100, 400)
	for _, c := range []struct {
		n      [2]int
		per    string
		spread float64
	}{
		{[2]int{300, 300}, "share", 0}, {[2]int{3000, 60}, "share", 0}, {[2]int{60, 3000}, "share", 0},
		{[2]int{300, 300}, "run", 0}, {[2]int{300, 300}, "run", 0.09}, {[2]int{3000, 3000}, "run", 0.09},
	} {
		n, differ := c.n, 0
		for range pairs {
			later := float64(n[1]) * (1 + c.spread*(2*rng.Float64()-1))
			d := compared(t, draw(n[0]), draw(int(later)), DiffOptions{Per: c.per})
			if slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Self.Significant || c.Total.Significant }) {
				differ++
			}
		}
		if share := float64(differ) / float64(pairs); share > mostThatDiffer(pairs) {
			t.Errorf("%+v: %.1f %% of pairs of equal recordings are said to differ", c, 100*share)
		}
	}
}

// equalFunctions has n samples, each in one of k functions by chance.
func equalFunctions(rng *rand.Rand, k, n int) *profile.Profile {
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x100000, File: "/usr/bin/kvd"}
	p := &profile.Profile{Mapping: []*profile.Mapping{m}, DurationNanos: int64(n) * 10e6,
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	counts := make([]int64, k)
	for range n {
		counts[rng.IntN(k)]++
	}
	for i, count := range counts {
		f := &profile.Function{ID: uint64(i + 1), Name: "f" + strconv.Itoa(i)}
		l := &profile.Location{ID: f.ID, Mapping: m, Address: m.Start + f.ID, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{count, count * 10e6}})
	}
	return p
}

// The smaller side expects less than a sample of each function.
func TestManyRareFunctionsOfOneLoadHardlyDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	pairs := testtargets.Times(50, 200)
	for _, c := range []struct {
		functions int
		samples   [2]int
		per       string
	}{
		{300, [2]int{3000, 60}, "share"}, {300, [2]int{60, 3000}, "share"}, {120, [2]int{3000, 60}, "second"},
		{120, [2]int{1000, 300}, "second"}, {120, [2]int{300, 300}, "run"},
	} {
		differ := 0
		for range pairs {
			d := compared(t, equalFunctions(rng, c.functions, c.samples[0]), equalFunctions(rng, c.functions, c.samples[1]),
				DiffOptions{Per: c.per})
			if slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Self.Significant || c.Total.Significant }) {
				differ++
			}
			d.Close()
		}
		if share := float64(differ) / float64(pairs); share > mostThatDiffer(pairs) {
			t.Errorf("%+v: %.1f %% of pairs of equal recordings are said to differ", c, 100*share)
		}
	}
}

// A sum over all samples would take years.
func TestProfilesOfHugeCountsAreCompared(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	huge := func(least int64) *profile.Profile {
		p := equalFunctions(rng, 8, 100)
		for i, s := range p.Sample {
			s.Value = []int64{least + int64(i), least + int64(i)}
		}
		return p
	}
	for _, counts := range [][2]int64{{1e17, 1e17}, {1e17, 1e3}, {1e3, 1e17}, {1e11, 1e10}, {1e17, 0}} {
		for _, per := range Normalizations() {
			compared(t, huge(counts[0]), huge(counts[1]), DiffOptions{Per: per}).Close()
		}
	}
}

func TestARareFunctionThatGrewIsFoundInAShortRecording(t *testing.T) {
	old := ticked(t, 10, map[uint64]int64{0x20: 2990, 0x40: 10})
	for count, want := range map[int64]bool{2: false, 12: true} {
		d := compared(t, old, ticked(t, 1, map[uint64]int64{0x20: 60 - count, 0x40: count}), DiffOptions{Per: "share"})
		if got := d.of("compress").Self.Significant; got != want {
			t.Errorf("%d of 60 samples: significant %v", count, got)
		}
	}
}

// All threads run the same function in each tick of 10 ms.
func timed(t *testing.T, threads int, addrs []uint64) *profile.Profile {
	t.Helper()
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 10_000_000, Main: app})
	for i, addr := range addrs {
		end := start.UnixNano() + int64(i+1)*10e6
		for n := range threads {
			b.Add(rec.Interval{PID: 7, TID: 7 + n, Comm: "kvd", State: "running", Samples: 1, Wall: 10e6, CPU: 10e6,
				End: end, Stack: b.Intern(at(app, addr, 0x10))})
		}
	}
	var buf bytes.Buffer
	err := b.Write(&buf, fixtureNames)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&buf)
	if err != nil {
		t.Fatal(err)
	}
	p.DurationNanos = int64(len(addrs)) * 10e6
	return p
}

// The test takes samples as independent, except in the design effect of lockstep. Long phases that recur leave less to
// chance. Long phases in random order are fewer draws than samples.
func TestSamplesThatDependOnEachOtherChangeTheErrorRate(t *testing.T) {
	addrs := []uint64{0x20, 0x30, 0x40, 0x50}
	const ticks = 400
	pairs := testtargets.Times(40, 150)
	for name, c := range map[string]struct {
		phase       int
		recur       bool
		threads     int
		least, most float64
	}{
		"independent":            {1, false, 1, 0, mostThatDiffer(pairs)},
		"8 in lockstep":          {1, false, 8, 0, mostThatDiffer(pairs)},
		"recurring phases":       {25, true, 1, 0, 0.01},
		"phases in random order": {25, false, 1, 0.5, 1},
	} {
		rng := rand.New(rand.NewPCG(5, 6))
		draw := func() *profile.Profile {
			got, first := make([]uint64, ticks), rng.IntN(c.phase)
			var now uint64
			for i := range got {
				at := i + first
				switch {
				case c.recur:
					now = addrs[at/c.phase%len(addrs)]
				case i == 0 || at%c.phase == 0:
					now = addrs[rng.IntN(len(addrs))]
				}
				got[i] = now
			}
			return timed(t, c.threads, got)
		}
		differ := 0
		for range pairs {
			d := compared(t, draw(), draw(), DiffOptions{})
			if slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Self.Significant || c.Total.Significant }) {
				differ++
			}
			d.Close()
		}
		share := float64(differ) / float64(pairs)
		t.Logf("%s: %.1f %% of pairs differ", name, 100*share)
		if share < c.least || share > c.most {
			t.Errorf("%s: %.1f %% of pairs of equal recordings are said to differ", name, 100*share)
		}
	}
}

func TestAChangeOfThreadsInLockstepIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	draw := func(share float64) *profile.Profile {
		got := make([]uint64, 1000)
		for i := range got {
			if got[i] = 0x20; rng.Float64() < share {
				got[i] = 0x40
			}
		}
		return timed(t, 8, got)
	}
	for share, want := range map[float64]bool{0.2: false, 0.3: true} { // 5.6 standard errors
		d := compared(t, draw(0.2), draw(share), DiffOptions{})
		if got := slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Self.Significant }); got != want {
			t.Errorf("20 %% and %v: changed %v, want %v: %+v", share, got, want, d.Changes)
		}
	}
}

func TestAFunctionOfTheWholeRunChangesAsTheWholeDoes(t *testing.T) {
	for later, want := range map[int64]bool{6300: false, 5700: false, 12000: true} {
		a, b := ticked(t, 10, map[uint64]int64{0x20: 6000}), ticked(t, 10, map[uint64]int64{0x20: later})
		for _, s := range b.Sample {
			s.Value[0] /= 10
		}
		if d := compared(t, a, b, DiffOptions{}); d.of("main").Total.Significant != want ||
			d.Changes[0].Self.Significant != want {
			t.Errorf("%d: main %+v, whole %+v", later, d.of("main").Total, d.Whole)
		}
	}
}

func TestAChangeOfTheWholeIsNotOneOfEachFunction(t *testing.T) {
	old := map[uint64]int64{0x20: 6000, 0x40: 3000, 0x60: 1000}
	times := func(by float64) map[uint64]int64 {
		out := map[uint64]int64{}
		for addr, n := range old {
			out[addr] = int64(by * float64(n))
		}
		return out
	}
	grown := times(1.03)
	grown[0x60] = 2000
	for name, c := range map[string]struct {
		later      map[uint64]int64
		main, last bool
	}{
		"alike":         {times(1.03), false, false},
		"faster":        {times(0.97), false, false},
		"twice as long": {times(2), true, true},
		"one has grown": {grown, true, true}, // by over an eighth of the whole
	} {
		d := compared(t, ticked(t, 10, old), ticked(t, 10, c.later), DiffOptions{})
		if main, last := d.of("main").Total.Significant, d.of("walk").Self.Significant; main != c.main || last != c.last {
			t.Errorf("%s: main has changed %v, walk %v; want %v, %v", name, main, last, c.main, c.last)
		}
	}
}

func TestAMovedLibraryIsTheSame(t *testing.T) {
	old, later := ticked(t, 10, map[uint64]int64{0x20: 400}), ticked(t, 10, map[uint64]int64{0x20: 400})
	for _, m := range later.Mapping {
		m.File = strings.Replace(m.File, "kvd", "storage", 1)
	}
	d := compared(t, old, later, DiffOptions{})
	if c := d.of("serve"); len(d.Changes) != 2 || c.Self.Old == 0 || c.Self.New == 0 || c.Module != "storage" {
		t.Errorf("%+v", d.Changes)
	}
}

func TestTheOtherFormsOfADifference(t *testing.T) {
	old := ticked(t, 10, map[uint64]int64{0x20: 400, 0x40: 400})
	later := ticked(t, 10, map[uint64]int64{0x20: 700, 0x60: 100})
	d := compared(t, old, later, DiffOptions{})
	var b bytes.Buffer
	if err := d.Folded(&b); err != nil || !strings.Contains(b.String(), "kvd;main;serve 4000000000 7000000000\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	var got struct {
		Total     jsonFigure
		Functions []jsonChange
	}
	if err := d.JSON(&b); err != nil || json.Unmarshal(b.Bytes(), &got) != nil {
		t.Fatalf("%v: %s", err, b.String())
	}
	if len(got.Functions) != 4 || got.Total.Old != 8e9 || got.Functions[0].Name != "serve" ||
		got.Functions[0].Self.New != 7e9 {
		t.Errorf("%+v", got)
	}
	ctx := openPage(t, func(b *bytes.Buffer) error { return d.HTML(b) })
	const row = "#functions tbody tr"
	if s := text(ctx, t, row+":first-child"); !strings.Contains(s, "serve") || !strings.Contains(s, "+3.00 s") {
		t.Errorf("first row: %q", s)
	}
	order := value[[]string](ctx, t, `sortRows([...table.rows]).filter((r) => !unless(r, 0)).map((r) =>
		r.info.name + " " + signed(r.change))`)
	if want := []string{"serve +3.00 s", "walk +1.00 s", "compress −4.00 s"}; !slices.Equal(order, want) {
		t.Errorf("surely changed: %q, want %q", order, want)
	}
	hue := `["serve","compress"].map((n) => {
		for (let i = 1; i < graph.tree.total.length; i++)
			if (graph.tree.info(i).name === n) return heat(i).slice(4).split(" ")[0];
	})`
	if colours := value[[]string](ctx, t, hue); colours[0] != "8" || colours[1] != "212" {
		t.Errorf("colours %q", colours)
	}
}

func TestARecordingWithoutSuchTimeIsNamed(t *testing.T) {
	p := ticked(t, 10, map[uint64]int64{0x20: 10})
	for value, want := range map[string]string{"runqueue": "the old recording has no runqueue time", "cpu": ""} {
		x := compared(t, p, p, DiffOptions{Options: Options{Value: value}})
		if got := x.Untested(); got != want {
			t.Errorf("%s: %q", value, got)
		}
	}
}

func TestProfilesThatCannotBeCompared(t *testing.T) {
	a := ticked(t, 10, map[uint64]int64{0x20: 400})
	b := &profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc", Unit: "bytes"}}}
	if _, err := Diff(a, b, DiffOptions{}); err == nil || !strings.Contains(err.Error(), "--value") {
		t.Error(err)
	}
	_, err := Diff(a, b, DiffOptions{Options: Options{Value: "cpu"}})
	if !errors.Is(err, ErrValue) || !strings.Contains(err.Error(), "the new recording") {
		t.Error(err)
	}
	empty := &profile.Profile{SampleType: a.SampleType}
	if d, err := Diff(empty, a, DiffOptions{}); err != nil || len(d.Changes) != 2 {
		t.Errorf("%+v %v", d, err)
	}
}

func TestScaledValuesOfAStackAddUp(t *testing.T) {
	runs := func(n int64) *profile.Profile {
		start := time.Unix(1_700_000_000, 0)
		b := rec.NewBuilder(rec.Meta{Start: start, Period: 10_000_000, Main: app})
		for i := range n {
			for _, addr := range []uint64{0x20, 0x40} {
				iv := rec.Interval{PID: 7, TID: int(i), Comm: "kvd", State: "running", Samples: 1, Wall: 10e6, CPU: 10e6}
				iv.End, iv.Stack = start.UnixNano()+i, b.Intern(at(app, addr, 0x10))
				b.Add(iv)
			}
		}
		return parsed(t, b, fixtureNames)
	}
	old, later := runs(30), runs(10)
	old.DurationNanos, later.DurationNanos = 30e9, 10e9
	d := compared(t, old, later, DiffOptions{Per: "second", Options: Options{Value: "samples"}})
	var folded bytes.Buffer
	if err := d.Folded(&folded); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kvd;main;compress 10 10\n", "kvd;main;serve 10 10\n"} {
		if !strings.Contains(folded.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &folded)
		}
	}
	later.Location, later.Sample = later.Location[:0], nil
	gone := compared(t, old, later, DiffOptions{Options: Options{Value: "samples"}}).joinedData()
	for frame, place := range gone.Places() {
		if name := gone.Table.Frames[frame].Name; name == "serve" && place.File != "/src/net.c" {
			t.Errorf("serve is only in the old recording: %+v", place)
		}
	}
	if len(gone.Places()) != 3 {
		t.Errorf("places %+v, want those of three functions", gone.Places())
	}
}

func TestChangesWithoutATestAreNotSure(t *testing.T) {
	plain := func(ticks map[uint64]int64) *profile.Profile {
		p := ticked(t, 10, ticks)
		p.SampleType, p.DefaultSampleType = p.SampleType[3:], "cpu"
		for _, s := range p.Sample {
			s.Value = s.Value[3:]
		}
		return p
	}
	old, later := plain(map[uint64]int64{0x20: 400, 0x40: 400}), plain(map[uint64]int64{0x20: 401, 0x40: 600})
	d := compared(t, old, later, DiffOptions{})
	for _, c := range d.Changes {
		if c.Self.Significant || c.Total.Significant {
			t.Errorf("%s is sure without a test", c.Name)
		}
	}
	if share, what := d.LargestGrowth(); share != 0.25 || what != "self time of compress" {
		t.Errorf("worst %v, %s", share, what)
	}
	var table, raw bytes.Buffer
	if err := errors.Join(d.Table(&table), d.JSON(&raw)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 of 3 functions changed\n",
		"Not tested for significance: the old recording has no sample", "compress"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &table)
		}
	}
	var got struct{ Untested string }
	if err := json.Unmarshal(raw.Bytes(), &got); err != nil || got.Untested == "" {
		t.Errorf("%v: %s", err, &raw)
	}
	several, err := DiffRuns([]*profile.Profile{old, old}, []*profile.Profile{later, later}, DiffOptions{})
	if err != nil || several.Untested() != "" || !several.Whole.Significant {
		t.Errorf("several runs: %v, untested %q, whole %+v", err, several.Untested(), several.Whole)
	}
}

func TestBothSidesSayHowManyIntervalsAFilterHides(t *testing.T) {
	serve, more := map[uint64]int64{0x20: 90}, map[uint64]int64{0x20: 90, 0x40: 90, 0x60: 90}
	for want, ticks := range map[string][2]map[uint64]int64{
		"":                                   {serve, serve},
		"2 of 3 intervals hidden by --focus": {more, more},
		"old: no interval hidden; new: 2 of 3 intervals hidden by --focus": {serve, more},
	} {
		d := compared(t, ticked(t, 10, ticks[0]), ticked(t, 10, ticks[1]), DiffOptions{Options: Options{Focus: "serve"}})
		if got := d.hiddenIntervals(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The kernel measures the whole, which differs between runs of some milliseconds.
func TestChangesOfAFewSamplesAreNotTested(t *testing.T) {
	run := func(ticks, cpu int64) *profile.Profile {
		p := ticked(t, 10, map[uint64]int64{0x20: max(ticks, 1)})
		for _, s := range p.Sample {
			s.Value[0], s.Value[3] = ticks, cpu
		}
		return p
	}
	for _, c := range []struct {
		old, later *profile.Profile
		untested   string
		share      float64
	}{
		{run(0, 17e5), run(0, 20e5), "the old recording has no sample with cpu time", 0},
		{run(9, 17e5), run(50, 34e5), "the old recording has only 9 samples with cpu time", 0},
		{run(50, 17e5), run(1, 34e5), "the new recording has only 1 sample with cpu time", 0},
		{run(0, 0), run(9, 34e5), "the old recording has no cpu time", 0},
		{run(0, 0), run(50, 34e5), "the old recording has no cpu time", math.Inf(1)},
		{run(10, 17e5), run(10, 34e5), "", 1},
	} {
		d := compared(t, c.old, c.later, DiffOptions{})
		share, _ := d.LargestGrowth()
		if share != c.share || d.Untested() != c.untested || d.Changes[0].Self.Significant != (c.share == 1) {
			t.Errorf("worst %v, want %v; untested %q, want %q; %+v", share, c.share, d.Untested(), c.untested, d.Changes[0])
		}
	}
}

func TestThePartOfAGrownWholeIsNotCalledSignificant(t *testing.T) {
	run := func(a, b, c int64) *profile.Profile {
		return ticked(t, 10, map[uint64]int64{0x20: a, 0x40: b, 0x60: c})
	}
	d, err := DiffRuns([]*profile.Profile{run(1000, 600, 400), run(600, 1000, 402), run(800, 798, 399)},
		[]*profile.Profile{run(1300, 700, 600), run(700, 1300, 603), run(1000, 1002, 597)}, DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.of("walk").Self = ComparedValue{}
	if d.of("compress").Self.Significant || !d.Whole.Significant {
		t.Fatalf("compress %+v, whole %+v", d.of("compress").Self, d.Whole)
	}
	const want = "the total (largest part: self time of compress, 10.1%, alone not significant)"
	if _, subject := d.LargestGrowth(); subject != want {
		t.Errorf("%s", subject)
	}
}
