// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/bench/tools"
	"prywalk/internal/testtargets"
)

func TestMain(m *testing.M) {
	if asked, err := load.Asked(); asked {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	os.Exit(m.Run())
}

// The windows are too short for figures. A missing or slow peer gives a line.
func TestARunMeasuresPrywalkAndItsPeers(t *testing.T) {
	p := Full(build(t))
	p.Threads, p.Running, p.Freqs, p.Pairs, p.PeerPairs = []int{3}, []int{1}, []float64{200}, 3, 3
	p.Window, p.Settle, p.Warm = 100*time.Millisecond, 5*time.Millisecond, 20*time.Millisecond
	p.Precision, p.Peers, p.PeerThreads = 0, tools.Peers(), []int{3}
	var reported []Row
	var skipped []string
	res := ticked(t, p, func(p Plan) (*Result, error) {
		reported, skipped = nil, nil
		return Run(t.Context(), p, "test", Report{
			Row: func(r Row) { reported = append(reported, r) }, Skip: func(line string) { skipped = append(skipped, line) },
		})
	})
	if len(reported) != len(res.Rows) || !slices.Equal(skipped, res.Skipped) {
		t.Errorf("%d of %d rows, and %q of %q were told", len(reported), len(res.Rows), skipped, res.Skipped)
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
		if r.Complete == nil && r.SamplesPerS > 0 {
			t.Errorf("%s does not tell how many stacks are complete", r.Peer)
		}
		if r.Pairs != 3 || r.Low > r.Ratio || r.Ratio > r.High {
			t.Errorf("%+v", r)
		}
	}
	if own != 1 {
		t.Errorf("%d rows of prywalk", own)
	}
	checkForms(t, res)
}

func checkForms(t *testing.T, res *Result) {
	t.Helper()
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
	if s := summary.String(); s != "" {
		t.Errorf("of one number of threads: %s", s)
	}
}

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

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "prywalk")
	if err := testtargets.BuildPrywalk(binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

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
	if r.Latency != nil {
		t.Errorf("busy threads wait: %+v", r.Latency)
	}
}

func TestTheContractsFieldsAreInTheJSON(t *testing.T) {
	one := 1.0
	row := Row{
		StopsPerS: &one, SyscallsPerTick: &one, CPUSelf: &one, Complete: &one, StopTimes: &tools.StopTimes{}, Peer: "x",
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
		"samples_per_s", "complete", "stop_us", "peer", "memory_mb", "latency_us",
	} {
		if _, ok := r.Rows[0][name]; !ok {
			t.Errorf("a row lacks %s", name)
		}
	}
}

func TestAPlanHasEachTargetOnce(t *testing.T) {
	deep := Busy()
	deep.Name, deep.Depths = "deep", []int{10, 100}
	p := Full("")
	p.Threads, p.Running, p.Loads = []int{1, 2}, []int{1, 2}, []Load{Busy(), deep}
	if got := p.cells(); len(got) != 3+6 {
		t.Errorf("%v", got)
	}
	p = Full("")
	for _, c := range p.cells() {
		if c.Running < 1 || c.Running > c.Threads {
			t.Errorf("%+v", c.Target)
		}
	}
}
