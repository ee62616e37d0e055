// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/benchmarks/bench/tools"
	"prywalk/internal/testtargets"
)

func TestTimesAreComparedAtTheSameRateAndForEachStack(t *testing.T) {
	run := func(whole float64, stacks int64) tools.Totals {
		return tools.Totals{Seconds: 10, CPU: whole / 2, Whole: whole, Samples: stacks, Complete: stacks}
	}
	c := cell{threads: 9, running: 1, freq: 100, order: []string{"", "perf", "mute"}, runs: map[string][]tools.Totals{
		"": {run(0.4, 9000), run(0.5, 9000), run(0.6, 9000)}, "perf": {run(0.2, 1000), run(0.2, 1000), run(0.2, 1000)},
		"mute": {{Seconds: 10, Complete: -1}},
	}}
	text := table([]cell{c})
	for _, want := range []string{
		"| prywalk | 50.0 (40.0 to 60.0) | 25.0 | 900 | 100.0 % | 56 |  |",
		"| perf | 20.0 (20.0 to 20.0) | 10.0 | 100 | 100.0 % | 200 | 2.50 (2.00 to 3.00) | more | 0.28 (0.22 to 0.33) | " +
			"less |",
		"| mute | 0.0 (0.0 to 0.0) | 0.0 | 0 | - | 0 | - | - | - | - |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestAToolsWholeTimeIsMeasured(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "prywalk")
	if err := testtargets.BuildPrywalk(binary); err != nil {
		t.Fatal(err)
	}
	s := &settings{threads: []int{3}, running: []int{1}, freqs: []int{100}, rounds: 1, length: 200 * time.Millisecond,
		binary: binary}
	var got []tools.Totals
	for {
		cells, notes, err := s.measure(t.Context(), dir)
		if err != nil || notes != "" || len(cells) != 1 {
			t.Fatalf("%+v %q %v", cells, notes, err)
		}
		if got = cells[0].runs[""]; len(got) != 1 || got[0].Samples > 0 || s.length > time.Minute {
			break
		}
		s.length *= 4
	}
	if len(got) != 1 || got[0].Whole < got[0].CPU || got[0].Whole <= 0 || got[0].Samples <= 0 {
		t.Errorf("%+v", got)
	}
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("no section\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.docs = page
	if err := run(t.Context(), s); err == nil {
		t.Error("a page without the section was taken")
	}
}

func TestACommandLineIsRefusedForWhatItDoesNotMean(t *testing.T) {
	for _, args := range [][]string{{"-threads", "x"}, {"-rounds", "0"}, {"-d", "0s"}, {"more"}, {"-freq", "0"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	s, err := parse([]string{"-peers", "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.selectTools(t.TempDir()); err == nil {
		t.Error("an unknown tool was taken")
	}
}
