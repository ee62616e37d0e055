// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/benchmarks/recordings"
	"prywalk/internal/testtargets/bounded"
)

func TestEveryProgramHasItsSourcesAndAPackage(t *testing.T) {
	setup, err := os.ReadFile("../../scripts/setup-atwork.sh")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	var seen []string
	for _, p := range programs() {
		if slices.Contains(seen, p.name) || !slices.Contains(groups, p.group) {
			t.Errorf("%s is there twice, or in no group", p.name)
		}
		seen = append(seen, p.name)
		for _, name := range p.sources {
			used[name] = true
			if text, err := source(name); err != nil || len(text) == 0 {
				t.Errorf("%s of %s: %v", name, p.name, err)
			}
		}
		for _, word := range strings.Fields(p.debian) {
			if !strings.Contains(string(setup), word) {
				t.Errorf("%s of %s is not in scripts/setup-atwork.sh", word, p.name)
			}
		}
	}
	files, err := sources.ReadDir("src")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f.Name()] && !f.IsDir() {
			t.Errorf("nobody uses src/%s", f.Name())
		}
	}
}

func TestTheSetupListsWhatIsMissing(t *testing.T) {
	cmd := exec.Command("sh", "../../scripts/setup-atwork.sh", "-n")
	out, err := bounded.AllOutput(cmd)
	if (err == nil) != (len(out) == 0) || err != nil && !strings.HasPrefix(string(out), "missing: ") {
		t.Errorf("%v %q", err, out)
	}
}

func TestTheBigSourceCompiles(t *testing.T) {
	cmd := exec.Command("cc", "-fsyntax-only", "-x", "c", "-")
	cmd.Stdin = bytes.NewReader(big())
	if out, err := bounded.AllOutput(cmd); err != nil {
		t.Errorf("%v %s", err, out)
	}
}

func TestAProgramThatIsMissingIsReported(t *testing.T) {
	s := &settings{}
	for _, p := range []program{
		{name: "a", run: []string{"no-such-program"}, debian: "pkg"},
		{name: "b", run: loop("no-such-program -x"), debian: "pkg"},
		{name: "c", build: [][]string{{"no-such-program"}}, run: []string{"./work"}, debian: "pkg"},
	} {
		r := s.measure(t.Context(), &p)
		if !strings.Contains(r.Error, "no-such-program is not installed") || !strings.Contains(r.Error, "Debian: pkg") {
			t.Errorf("%+v", r)
		}
		if text := table([]row{r}).String(); !strings.Contains(text, "| "+p.name+" | - | no-such-program is not installed") {
			t.Error(text)
		}
	}
}

func TestTheLengthOfARecordingFollowsFromAShortOne(t *testing.T) {
	s := &settings{stacks: 10000, longest: time.Minute}
	for _, c := range []struct {
		n       int64
		d, want time.Duration
	}{
		{500, time.Second, 22 * time.Second}, {0, time.Second, 4 * time.Second}, {1, time.Second, time.Minute},
		{90000, time.Second, 2 * time.Second}, {9000, 22 * time.Second, 26888888888},
	} {
		if got := s.length(c.n, c.d); got != c.want {
			t.Errorf("%d stacks in %v: %v, not %v", c.n, c.d, got, c.want)
		}
	}
}

func sample(n int64, state string, names ...string) *profile.Sample {
	s := &profile.Sample{Value: []int64{n, 0, 0, 0}, Label: map[string][]string{"state": {state}}}
	for _, name := range names {
		l := &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}}
		if name[0] != '[' {
			l.Address, l.Mapping = 0x1000, &profile.Mapping{Start: 0x1000, File: "/bin/prog"}
		}
		s.Location = append(s.Location, l)
	}
	return s
}

func TestOnlyStacksOfRunningThreadsCount(t *testing.T) {
	f := &figures{}
	f.count(&profile.Profile{Sample: []*profile.Sample{
		sample(7, "running", "f", "main"), sample(2, "running", "f", "[incomplete: no-rule]"),
		sample(90, "sleeping", "read", "[incomplete: no-rule]"), sample(5, "running", "[ran between ticks]"),
	}})
	if f.Running != 9 || f.Whole != 7 {
		t.Errorf("%+v", f)
	}
	if want := []recordings.Class{{Reason: "no-rule", Place: "prog: f, innermost", Samples: 2}}; !slices.Equal(f.Classes,
		want) {
		t.Errorf("%+v", f.Classes)
	}
}

func made(name, group string, whole, running int64) row {
	st := runStats{Stopped: 200, FramesByMethod: map[string]int64{"context": 100, "cfi": 90, "scan": 10},
		StopUS:      &spread{20, 50, 400},
		CopiedBytes: &spread{4096, 65536, 70000}, LongStops: map[string]longStopsOf{"copy": {N: 1}, "late": {N: 2}},
		CPUSelfS: 0.01, CPUTargetS: 4, CPUUnobservedS: 0.1}
	st.StopTimes = append(st.StopTimes, struct {
		BelowUS float64 `json:"below_us"`
		N       int64   `json:"n"`
	}{262.144, 197}, struct {
		BelowUS float64 `json:"below_us"`
		N       int64   `json:"n"`
	}{524.288, 3})
	f := figures{Running: running, Whole: whole, Stats: st,
		Classes: []recordings.Class{{Reason: "no-rule", Place: "prog: f", Samples: running - whole}}}
	old := f
	old.Whole, old.Stats = whole/2, runStats{Stopped: 200, CPUSelfS: 0.02}
	return row{Name: name, Group: group, Now: &f, Before: &old}
}

func TestTablesSayWhatWasMeasured(t *testing.T) {
	all := []row{made("one", compiled, 1000, 1000), made("two", compiled, 900, 1000),
		made("luajit", generators, 300, 1000), {Name: "gone", Group: generators, Error: "not here\nat all"}}
	text := table(all).String() + details(all).String() + incomplete(all).String() + summary(all)
	for _, want := range []string{
		"| one | 1000 | 100.00 (99.62 to 100.00) | 50.00 (1000) | 90.0, 0.0, 0.0, 10.0 | 4.0, 64.0 | 20, 50, 400 | 1.50 " +
			"late 2 copy 1 | 50 (100) | 2.5 |  | 0.0,  |",
		"| two | 1000 | 90.00 (87.98 to 91.71) | no-rule 100 | 20, 50, 400 | 0.0 |",
		"| gone | - | not here |", "| luajit | 700 | 70.00 | no-rule | prog: f |",
		"| compiled (2) | 2000 | 95.00 | two 90.00 | 47.50 |",
		"| other code made at run time (1) | 1000 | 30.00 | luajit 30.00 | 15.00 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if got := percent(0.99999); got != "99.99" {
		t.Errorf("incomplete ones became %s", got)
	}
}

func TestSummaryOfOneBuildHasNoColumnBefore(t *testing.T) {
	all := []row{made("one", compiled, 1000, 1000)}
	all[0].Before = nil
	if text := summary(all); strings.Contains(text, "before") || !strings.Contains(text, "| one 100.00 |\n") {
		t.Errorf("%s", text)
	}
}

func TestRowsOfOtherProgramsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	if all, err := load(path); err != nil || all != nil {
		t.Errorf("%v %v", all, err)
	}
	if err := save(path, []row{made("xz", compiled, 1, 2), made("luajit", generators, 1, 2)}); err != nil {
		t.Fatal(err)
	}
	all, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	updated := made("luajit", generators, 2, 2)
	updated.Before = nil
	all = replaceRow(replaceRow(all, updated), made("gcc", compiled, 2, 2))
	if len(all) != 3 || all[2].Before == nil || all[0].Name != "gcc" || all[2].Name != "luajit" || all[2].Now.Whole != 2 ||
		all[1].Before.Running != 2 {
		t.Errorf("%+v", all)
	}
	if err := os.WriteFile(path, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(path); err == nil {
		t.Error("what is no JSON was taken")
	}
}

func TestATableIsMadeInPieces(t *testing.T) {
	one, two, failed := made("xz", compiled, 1, 2), made("gcc", compiled, 1, 2), row{Name: "vp9", Error: "not installed"}
	one.Revision, two.Revision = "1111111", "2222222"
	all := []row{one, two, one, failed}
	if got, want := revisions(all), "1111111, 2222222"; got != want {
		t.Errorf("commits %q, want %q", got, want)
	}
	if !has(all, "gcc") || has(all, "vp9") || has(all, "r") {
		t.Error("a program that failed has figures, or one that was measured has none")
	}
	s := &settings{programs: []program{{name: "xz"}, {name: "gcc"}}, missing: true, json: filepath.Join(t.TempDir(), "f")}
	if err := save(s.json, all); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.run(t.Context(), &out); err != nil || !strings.Contains(out.String(), "prywalk 1111111, 2222222;") {
		t.Errorf("%v\n%s", err, &out)
	}
	if now, err := load(s.json); err != nil || len(now) != len(all) || now[1].Revision != two.Revision {
		t.Errorf("%+v %v", now, err)
	}
}

func TestACommandLineIsRefusedForWhatItDoesNotMean(t *testing.T) {
	for _, args := range [][]string{{"-only", "nobody"}, {"-stacks", "0"}, {"-longest", "0s"}, {"more"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	if s, err := parse([]string{"-quick", "-only", "gcc,vp9"}); err != nil || len(s.programs) != 2 || s.stacks != 1000 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestAProgramIsMeasured(t *testing.T) {
	p := &program{name: "shell", group: interpreters, run: []string{"sh", "-c", "until false; do :; done"}, debian: "dash"}
	s := &settings{programs: []program{*p}, stacks: 20, freq: 199, engine: "ptrace", longest: time.Minute,
		json: filepath.Join(t.TempDir(), "f.json")}
	var out bytes.Buffer
	if err := s.run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	all, err := load(s.json)
	if err != nil || len(all) != 1 || all[0].Error != "" {
		t.Fatalf("%+v %v\n%s", all, err, &out)
	}
	f := all[0].Now
	if f.Running < 20 || f.Whole == 0 || f.Stats.CopiedBytes == nil || f.Stats.CopiedBytes.Max <= 0 ||
		f.Stats.StopUS == nil {
		t.Errorf("%+v\n%s", f, &out)
	}
}
