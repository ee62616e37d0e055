// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/bench/load"
	"prywalk/internal/bench/tools"
	"prywalk/internal/markdown"
	"prywalk/internal/testtargets"
)

// TestARunMeasuresPrywalkAndItsPeers: with windows that are too short for any figure. A peer may be missing,
// or too slow on a busy machine; then a line says so.
func TestARunMeasuresPrywalkAndItsPeers(t *testing.T) {
	p := Plan{
		Self: build(t), Loads: []string{CLoad}, Threads: []int{3}, Running: []int{1}, Freqs: []float64{200},
		Pairs: 3, PeerPairs: 3, Window: 100 * time.Millisecond, Settle: 5 * time.Millisecond, Warm: 20 * time.Millisecond,
		Peers: true, PeerThreads: []int{3},
	}
	var told []Row
	var skipped []string
	res := ticked(t, p, func(p Plan) (*Result, error) {
		told, skipped = nil, nil
		return Run(t.Context(), p, "test", Report{
			Row: func(r Row) { told = append(told, r) }, Skip: func(line string) { skipped = append(skipped, line) },
		})
	})
	if len(told) != len(res.Rows) || !slices.Equal(skipped, res.Skipped) {
		t.Errorf("%d of %d rows, and %q of %q were told", len(told), len(res.Rows), skipped, res.Skipped)
	}
	native := 0
	for _, tool := range append(tools.Peers(), tools.Prywalk()) {
		if tool.For(tools.Native) {
			native++
		}
	}
	if left := native - len(res.Rows); left > 0 && len(skipped) == 0 {
		t.Errorf("%d rows are missing, and no line says why", left)
	}
	for _, line := range skipped {
		t.Log(line)
	}
	own := 0
	for _, r := range res.Rows {
		if r.Peer == "" {
			own++
			checkOwn(t, r)
		}
		if r.Complete == nil && r.SamplesPerS > 0 && r.Peer != "plain-walker" { // which unwinds nothing
			t.Errorf("%s does not tell how many stacks are complete", r.Peer)
		}
		if r.Pairs != 3 || r.Low > r.Ratio || r.Ratio > r.High {
			t.Errorf("%+v", r)
		}
	}
	if own != 1 {
		t.Errorf("%d rows of prywalk", own)
	}
	p.Peers, p.Loads = false, []string{load.Requests}
	waiting := ticked(t, p, func(p Plan) (*Result, error) {
		return Run(t.Context(), p, "test",
			Report{Row: func(Row) {}})
	})
	if len(waiting.Rows) != 1 {
		t.Fatalf("%+v", waiting)
	}
	checkOwn(t, waiting.Rows[0])
	res.Rows = append(res.Rows, waiting.Rows...)
	checkForms(t, res)
}

// ticked runs a plan, with longer windows if prywalk got no processor in any of them.
func ticked(t *testing.T, p Plan, run func(Plan) (*Result, error)) *Result {
	t.Helper()
	for ; ; p.Window *= 4 {
		res, err := run(p)
		if err != nil {
			t.Fatal(err)
		}
		idle := func(r Row) bool { return r.Peer == "" && r.SyscallsPerTick == nil }
		if p.Window > 5*time.Second || !slices.ContainsFunc(res.Rows, idle) {
			return res
		}
	}
}

// build compiles prywalk.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "prywalk")
	if err := testtargets.BuildPrywalk(binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// checkOwn checks a row of prywalk's.
func checkOwn(t *testing.T, r Row) {
	t.Helper()
	for name, x := range map[string]*float64{
		"stops": r.StopsPerS, "calls": r.SyscallsPerTick, "bytes": r.BytesPerTick, "own": r.CPUSelf, "after": r.CPUAfter,
		"memory": r.MemoryMB, "complete": r.Complete,
	} {
		if x == nil || *x < 0 {
			t.Errorf("%s of %+v is not told", name, r)
		}
	}
	if r.SamplesPerS <= 0 || r.AskedPerS < 3*200 || r.Complete != nil && *r.Complete > 1 {
		t.Errorf("%+v", r)
	}
	if l := r.Latency; l != nil && (r.Workload != load.Requests || l.With.P50 > l.With.P999 || l.With.N == 0) {
		t.Errorf("workload %s, latency %+v", r.Workload, l)
	}
}

// checkForms writes a result in all forms, and reads it again.
func checkForms(t *testing.T, res *Result) {
	t.Helper()
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	twice, err := Read([]string{path, path})
	if err != nil || len(twice.Rows) != 2*len(res.Rows) {
		t.Fatalf("%v %v", twice, err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+markdown.Empty(sectionName)+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WritePage(page, filepath.Join(filepath.Dir(page), "chart.svg"), res); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if s := string(got); err != nil || !strings.HasPrefix(s, "before\n") || !strings.HasSuffix(s, "\nafter\n") ||
		!strings.Contains(s, "](chart.svg)") || strings.Count(s, "| prywalk | 3 |") < 2 {
		t.Errorf("%v: %s", err, got)
	}
	var svg strings.Builder
	if err := SVG(&svg, res); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	Header(io.Discard)
	for _, r := range res.Rows {
		Line(io.Discard, r)
	}
	var summary strings.Builder
	Summary(&summary, res)
	peers := 0
	for i := range res.Rows {
		if res.Rows[i].Peer != "" {
			peers++
		}
	}
	if n := strings.Count(summary.String(), "\n"); n != peers { // of one number of threads, nothing is flat
		t.Errorf("%d lines of %d peers: %s", n, peers, &summary)
	}
}

// TestTheContractsFieldsAreInTheJSON: those that other programs rely on.
func TestTheContractsFieldsAreInTheJSON(t *testing.T) {
	one := 1.0
	row := Row{
		StopsPerS: &one, SyscallsPerTick: &one, CPUSelf: &one, Complete: &one, Freeze: &tools.Freeze{}, Peer: "x",
		MemoryMB: &one, Latency: &Latency{},
	}
	text, err := json.Marshal(Result{Rows: []Row{row}})
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Machine map[string]any
		Rows    []map[string]any
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kernel", "processors", "prywalk"} {
		if _, ok := r.Machine[name]; !ok {
			t.Errorf("machine lacks %s", name)
		}
	}
	for _, name := range []string{
		"threads", "running", "freq", "pairs", "ratio", "ratio_low", "ratio_high", "stops_per_s", "syscalls_per_tick",
		"cpu_self",
		"samples_per_s", "complete", "freeze_us", "peer", "memory_mb", "latency_us",
	} {
		if _, ok := r.Rows[0][name]; !ok {
			t.Errorf("a row lacks %s", name)
		}
	}
}

// TestAPromiseIsBrokenWhereTheWholeIntervalIsBelowIt: and only prywalk promises.
func TestAPromiseIsBrokenWhereTheWholeIntervalIsBelowIt(t *testing.T) {
	r := &Result{Machine: Machine{Processors: 2}, Rows: []Row{
		{Running: 1, Freq: 100, Low: 0.9, High: 0.991},
		{Running: 1, Freq: 100, Low: 0.9, High: 0.989},
		{Running: 2, Freq: 100, Low: 0.9, High: 0.989},
		{Running: 2, Freq: 1000, Low: 0.9, High: 0.929},
		{Running: 2, Freq: 1000, Low: 0.9, High: 0.929, Peer: "gdb"},
		{Running: 2, Freq: 5000, Low: 0.1, High: 0.2},
	}}
	if got, unjudged := Broken(r, nil); len(got) != 2 || len(unjudged) != 0 {
		t.Errorf("%q, %q", got, unjudged)
	}
}

// TestWhatIsKnownIsMadeOfResults: of undisturbed rows of prywalk on busy threads, without what is not needed.
func TestWhatIsKnownIsMadeOfResults(t *testing.T) {
	little, much := 0.05, 0.5
	r := &Result{Machine: Machine{Processors: 2}, Rows: []Row{
		{Threads: 2, Running: 1, Freq: 100, Low: 0.95, High: 0.96, Ratios: []float64{0.95}, Others: &little},
		{Threads: 2, Running: 1, Freq: 100, Low: 0.5, High: 0.6, Others: &much}, {Running: 1, Freq: 100, Peer: "gdb"},
		{Running: 1, Freq: 100, Workload: "c"},
	}}
	known, err := KnownOf(r)
	if err != nil || len(known.Rows) != 1 || known.Rows[0].Low != 0.95 || known.Rows[0].Ratios != nil {
		t.Fatalf("%+v %v", known, err)
	}
	if broken, _ := Broken(r, known); len(broken) != 0 {
		t.Errorf("%q", broken)
	}
	if _, err := KnownOf(&Result{Rows: r.Rows[1:]}); err == nil {
		t.Error("made of nothing")
	}
}

func TestAnAimIsReachedOrMissedByTheWholeInterval(t *testing.T) {
	for want, r := range map[string]Row{
		"0.99: reached": {Running: 1, Freq: 100, Low: 0.99, High: 1}, "0.97: open": {Running: 1, Freq: 1000, Low: 0.96,
			High: 0.98},
		"0.93: missed": {Running: 2, Freq: 1000, Low: 0.9, High: 0.92}, "": {Running: 2, Freq: 1000, Peer: "gdb"},
	} {
		if got := r.aim(2); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestResultsOfOneKindOfMachineArePutTogether: and those of another are refused.
func TestResultsOfOneKindOfMachineArePutTogether(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := file("a", `{"machine":{"processors":2,"prywalk":"1","load":1},"rows":[{"threads":1}],"skipped":["x"]}`)
	b := file("b",
		`{"machine":{"processors":2,"prywalk":"2","load":3,"scheduling":"fifo"},"rows":[{"threads":2}],"skipped":["x","y"]}`)
	c := file("c", `{"machine":{"processors":4},"rows":[]}`)
	r, err := Read([]string{a, b, b})
	if err != nil || len(r.Rows) != 3 || r.Rows[1].Threads != 2 || len(r.Skipped) != 2 || r.Machine.Prywalk != "1; 2" ||
		r.Machine.Load != 3 || r.Machine.Scheduling != "fifo" {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := Read([]string{a, c}); err == nil {
		t.Errorf("%+v of two kinds of machine", r)
	}
}

// TestAKnownGapFailsOnlyWhenItWidens: and a row that others or the hypervisor disturbed is not judged, nor
// one of another kind of machine.
func TestAKnownGapFailsOnlyWhenItWidens(t *testing.T) {
	known := &Result{Machine: Machine{Processors: 8}, Rows: []Row{
		{Threads: 2, Running: 1, Freq: 100, Low: 0.95, High: 0.96}, {Threads: 9, Running: 1, Freq: 100, Low: 0.97,
			High: 0.98},
	}}
	much, some, little := 0.5, 0.05, 0.02
	r := &Result{Machine: Machine{Processors: 8}, Rows: []Row{
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.951},
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.949},
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.949, Others: &much},
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.949, Stolen: &some},
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.949, Others: &some, Stolen: &little},
		{Threads: 9, Running: 7, Freq: 100, Low: 0.94, High: 0.96},
		{Threads: 2, Running: 8, Freq: 100, Low: 0.94, High: 0.96},
	}}
	if got, unjudged := Broken(r, known); len(got) != 3 || len(unjudged) != 2 {
		t.Errorf("%q, %q", got, unjudged)
	}
	known.Machine.Processors = 2
	if got, unjudged := Broken(r, known); len(got) != 0 || len(unjudged) != 5 {
		t.Errorf("of another machine: %q, %q", got, unjudged)
	}
}

func TestAPlanHasEachTargetOnce(t *testing.T) {
	p := Full()
	p.Threads, p.Running, p.Loads = []int{1, 2}, []int{1, 2}, []string{load.Busy, load.Deep}
	p.Depths = []int{10, 100}
	if got := p.cells(); len(got) != 3+6 {
		t.Errorf("%v", got)
	}
	p = Full()
	p.Loads = Loads()
	for _, c := range p.cells() {
		if c.running < 1 || c.running > c.threads {
			t.Errorf("%+v", c)
		}
	}
}
