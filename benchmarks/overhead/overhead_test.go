// SPDX-License-Identifier: Apache-2.0

package main

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

	"prywalk/benchmarks/bench"
	bare "prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/overhead/load"
	"prywalk/benchmarks/overhead/peers"
	"prywalk/internal/testtargets"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workload {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestARunMeasuresALoadOfOnesOwnBesideAllPeers(t *testing.T) {
	self := build(t)
	p := bench.Full(self)
	p.Threads, p.Running, p.Freqs, p.Pairs, p.PeerPairs = []int{3}, []int{1}, []float64{200}, 3, 3
	p.Window, p.Settle, p.Warm = 100*time.Millisecond, 5*time.Millisecond, 20*time.Millisecond
	p.Precision, p.Peers = 0, peers.All()
	p.Loads = []bench.Load{loadOf(cLoad, nil)}
	res := ticked(t, p)
	for _, line := range res.Skipped {
		t.Log(line)
	}
	for _, r := range res.Rows {
		if r.Complete == nil && r.SamplesPerS > 0 && r.Peer != "plain-walker" {
			t.Errorf("%s does not tell how many stacks are complete", r.Peer)
		}
	}
	p.Peers, p.Loads = nil, []bench.Load{loadOf(load.Requests, nil)}
	waiting := ticked(t, p)
	if len(waiting.Rows) != 1 {
		t.Fatalf("%+v", waiting)
	}
	l := waiting.Rows[0].Latency
	if l == nil || l.With.P50 > l.With.P999 || l.With.N == 0 {
		t.Errorf("latency %+v", l)
	}
	res.Rows = append(res.Rows, waiting.Rows...)
	checkForms(t, res)
}

func ticked(t *testing.T, p bench.Plan) *bench.Result {
	t.Helper()
	for ; ; p.Window *= 4 {
		res, err := bench.Run(t.Context(), p, "test", bench.Report{Row: func(bench.Row) {}, Skip: func(string) {}})
		if err != nil {
			t.Fatal(err)
		}
		idle := func(r bench.Row) bool { return r.Peer == "" && r.SyscallsPerTick == nil }
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

func TestEachLoadHasItsPlan(t *testing.T) {
	for _, name := range loadNames() {
		l := loadOf(name, []int{10, 100})
		threads, running := l.Usual()
		if l.Name != name || l.Command == nil || len(threads) == 0 || len(running) == 0 ||
			(l.Depths != nil) != (name == load.Deep) {
			t.Errorf("%s: %+v", name, l)
		}
	}
	s := settings{prywalk: "x", workloads: "all", threads: "2,5", peers: true, window: time.Second}
	p, err := s.plan()
	if err != nil || len(p.Loads) != len(loadNames()) || p.Loads[0].Name != bare.Busy ||
		!slices.Equal(p.PeerThreads, []int{2, 5}) {
		t.Errorf("%+v %v", p, err)
	}
	for _, wrong := range []settings{{workloads: "x"}, {workloads: bare.Busy, threads: "1,x"}} {
		if _, err := wrong.plan(); err == nil {
			t.Errorf("%+v is a plan", wrong)
		}
	}
}

func checkForms(t *testing.T, res *bench.Result) {
	t.Helper()
	text, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	twice, err := read([]string{path, path})
	if err != nil || len(twice.Rows) != 2*len(res.Rows) {
		t.Fatalf("%v %v", twice, err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+markdown.EmptySection(sectionName)+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(page, filepath.Join(filepath.Dir(page), "chart.svg"), res); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if s := string(got); err != nil || !strings.HasPrefix(s, "before\n") || !strings.HasSuffix(s, "\nafter\n") ||
		!strings.Contains(s, "](chart.svg)") || strings.Count(s, "| prywalk | 3 |") < 2 {
		t.Errorf("%v: %s", err, got)
	}
	for _, name := range []string{"rows", "peers", "waits"} {
		rows, err := os.ReadFile(markdown.DataFile(page, name))
		if err != nil || !strings.HasPrefix(string(rows), "workload\t") {
			t.Errorf("%s: %v, %q", name, err, rows)
		}
	}
	var svg strings.Builder
	if err := bench.SVG(&svg, res); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	bench.Header(io.Discard)
	for _, r := range res.Rows {
		bench.Line(io.Discard, r)
	}
	var lines strings.Builder
	bench.Summary(&lines, res)
	summary(&lines, res)
	peers := 0
	for i := range res.Rows {
		if res.Rows[i].Peer != "" {
			peers++
		}
	}
	if n := strings.Count(lines.String(), "\n"); n != peers {
		t.Errorf("%d lines of %d peers: %s", n, peers, &lines)
	}
}
