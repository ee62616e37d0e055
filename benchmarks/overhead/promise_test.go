// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"prywalk/benchmarks/bench"
)

func TestAPromiseIsBrokenWhereTheWholeIntervalIsBelowIt(t *testing.T) {
	r := &bench.Result{Machine: bench.Machine{Processors: 2}, Rows: []bench.Row{
		{Running: 1, Freq: 100, Low: 0.9, High: 0.991},
		{Running: 1, Freq: 100, Low: 0.9, High: 0.989},
		{Running: 2, Freq: 100, Low: 0.9, High: 0.989},
		{Running: 2, Freq: 1000, Low: 0.9, High: 0.929},
		{Running: 2, Freq: 1000, Low: 0.9, High: 0.929, Peer: "gdb"},
		{Running: 2, Freq: 5000, Low: 0.1, High: 0.2},
	}}
	if got, unjudged := broken(r, nil); len(got) != 2 || len(unjudged) != 0 {
		t.Errorf("%q, %q", got, unjudged)
	}
}

func TestWhatIsKnownIsMadeOfResults(t *testing.T) {
	little, much := 0.05, 0.5
	r := &bench.Result{Machine: bench.Machine{Processors: 2}, Rows: []bench.Row{
		{Threads: 2, Running: 1, Freq: 100, Low: 0.95, High: 0.96, Ratios: []float64{0.95}, Others: &little},
		{Threads: 2, Running: 1, Freq: 100, Low: 0.5, High: 0.6, Others: &much}, {Running: 1, Freq: 100, Peer: "gdb"},
		{Running: 1, Freq: 100, Workload: "c"},
	}}
	known, err := knownOf(r)
	if err != nil || len(known.Rows) != 1 || known.Rows[0].Low != 0.95 || known.Rows[0].Ratios != nil {
		t.Fatalf("%+v %v", known, err)
	}
	if missed, _ := broken(r, known); len(missed) != 0 {
		t.Errorf("%q", missed)
	}
	if _, err := knownOf(&bench.Result{Rows: r.Rows[1:]}); err == nil {
		t.Error("made of nothing")
	}
}

func TestAnAimIsReachedOrMissedByTheWholeInterval(t *testing.T) {
	for want, r := range map[string]bench.Row{
		"0.99: reached": {Running: 1, Freq: 100, Low: 0.99, High: 1}, "0.97: open": {Running: 1, Freq: 1000, Low: 0.96,
			High: 0.98},
		"0.93: missed": {Running: 2, Freq: 1000, Low: 0.9, High: 0.92}, "": {Running: 2, Freq: 1000, Peer: "gdb"},
	} {
		if got := aim(&r, 2); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

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
	r, err := read([]string{a, b, b})
	if err != nil || len(r.Rows) != 3 || r.Rows[1].Threads != 2 || len(r.Skipped) != 2 || r.Machine.Prywalk != "1; 2" ||
		r.Machine.Load != 3 || r.Machine.Scheduling != "fifo" {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := read([]string{a, c}); err == nil {
		t.Errorf("%+v of two kinds of machine", r)
	}
}

func TestAKnownGapFailsOnlyWhenItWidens(t *testing.T) {
	known := &bench.Result{Machine: bench.Machine{Processors: 8}, Rows: []bench.Row{
		{Threads: 2, Running: 1, Freq: 100, Low: 0.95, High: 0.96}, {Threads: 9, Running: 1, Freq: 100, Low: 0.97,
			High: 0.98},
	}}
	much, some, little := 0.5, 0.05, 0.02
	r := &bench.Result{Machine: bench.Machine{Processors: 8}, Rows: []bench.Row{
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.951},
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.949},
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.949, Others: &much},
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.949, Stolen: &some},
		{Threads: 2, Running: 7, Freq: 100, Low: 0.94, High: 0.949, Others: &some, Stolen: &little},
		{Threads: 9, Running: 7, Freq: 100, Low: 0.94, High: 0.96},
		{Threads: 2, Running: 8, Freq: 100, Low: 0.94, High: 0.96},
	}}
	if got, unjudged := broken(r, known); len(got) != 3 || len(unjudged) != 2 {
		t.Errorf("%q, %q", got, unjudged)
	}
	known.Machine.Processors = 2
	if got, unjudged := broken(r, known); len(got) != 0 || len(unjudged) != 5 {
		t.Errorf("of another machine: %q, %q", got, unjudged)
	}
}
