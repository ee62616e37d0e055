// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/store/profile"
)

func recorded(t *testing.T, name string, ticks ...int64) string {
	t.Helper()
	mod := &profile.ModuleInfo{Start: 0x1000, End: 0x2000, Path: "/usr/bin/kvd"}
	b := profile.NewBuilder(profile.Meta{Start: time.Unix(1e9, 0), Period: 10 * time.Millisecond, Main: mod})
	for f, n := range ticks {
		i := profile.Interval{PID: 7, TID: 7, State: "running", Samples: n, Wall: n * 1e7, CPU: n * 1e7, End: 1_000_000_010e9}
		i.Stack = b.Intern([]profile.Loc{{Module: mod, Addr: 0x1010 + 0x10*uint64(f)}})
		b.Add(i)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := b.WriteFile(path, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// recordedRuns are runs of a program with 41 functions, of which the first has these samples. The others have 368
// samples, each number with the standard deviation of a Poisson distribution.
func recordedRuns(t *testing.T, rng *rand.Rand, first ...int64) string {
	t.Helper()
	var files []string
	for run, n := range first {
		ticks := []int64{n}
		for f := range 40 {
			mean := 86 / float64(f+1)
			ticks = append(ticks, max(0, int64(math.Round(mean+math.Sqrt(mean)*rng.NormFloat64()))))
		}
		files = append(files, recorded(t, fmt.Sprintf("%d-%d", n, run), ticks...))
	}
	return strings.Join(files, ",")
}

func TestAFunctionHalfAsSlowAgainIsFoundInThreeRunsASide(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.html")
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		files := []string{"-a", recordedRuns(t, rng, 93, 94, 103), "-b", recordedRuns(t, rng, 143, 149, 135)}
		for _, form := range [][]string{nil, {"--html", page}} {
			args := slices.Concat([]string{"diff", "--lines", "--fail-above", "5%"}, form, files)
			p := start(t, t.TempDir(), nil, args...)
			code := p.code(t)
			text := p.out.String()
			if form != nil {
				html, err := os.ReadFile(page)
				if err != nil {
					t.Fatal(err)
				}
				text = string(html)
			}
			if code != errs.ExitGrowthExceeded || !strings.Contains(text, "1 of 41 functions changed significantly") ||
				!strings.Contains(text, "Found 9 times in 10: a function that grew by ") ||
				!strings.Contains(p.err.String(), "self time of 0x10 [kvd]") {
				t.Errorf("seed %d %q: exit code %d, %q, %q", seed, form, code, &p.out, &p.err)
			}
		}
	}
}

func TestDiffExitCodeReportsGrowth(t *testing.T) {
	t.Parallel()
	old, same, slower := recorded(t, "old", 500, 500), recorded(t, "same", 500, 500), recorded(t, "slower", 500, 1500)
	noisy, third := recorded(t, "noisy", 600, 500), recorded(t, "third", 510, 500)
	brief, page := recorded(t, "brief", 4, 5), filepath.Join(t.TempDir(), "page.html")
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{old + " " + same, 0, "No significant change;", ""},
		{old + " " + slower + " --lines", 0, "slower", ""},
		{"--fail-above 5% " + old + " " + same, 0, "", ""},
		{"--fail-above 5% " + old + " " + slower, errs.ExitGrowthExceeded, "slower",
			"grew by 100.0% of the old total, more than --fail-above 5% allows; one run per side"},
		{"--fail-above 0.5 " + old + " " + same, 0, "One run per side", "--fail-above 0.5%: no significant growth"},
		{"--fail-above 5% -a " + old + "," + noisy + " -b " + slower, 0, "Means of 2 runs and 1 run",
			"no significant growth. Found 9 times in 10: no growth of a function, a total that grew by "},
		{"--fail-above 5% -a " + old + "," + noisy + "," + third + " -b " + same + "," + recorded(t, "b2", 505, 500) + "," +
			recorded(t, "b3", 550, 500), 0, "Means of 3 runs",
			"--fail-above 5%: no significant growth. Found 9 times in 10: a function"},
		{"--fail-above 5% " + brief + " " + slower, 0, "Not tested for significance: the old recording has only 9 samples",
			"--fail-above 5%: whether something grew is not known; not tested for significance, since the old recording has " +
				"only 9 samples"},
		{"--fail-above 5 --per share --lines " + old + " " + slower, errs.ExitGrowthExceeded, "",
			"self time of 0x20 [kvd] grew by 25.0%"},
		{"--fail-above 30 --per share --lines " + old + " " + slower, 0, "", ""},
		{"--fail-above lots " + old + " " + slower, errs.ExitUsage, "", "is not a percentage"},
		{"--json --fail-above 10% " + old + " " + slower, errs.ExitGrowthExceeded, `"sure":true`, "grew by"},
		{"--html " + page + " " + old + " " + slower, 0, "", ""},
		{"--folded " + old + " " + slower, 0, "[kvd] 10000000000 20000000000", ""},
		{"--folded --json " + old + " " + slower, errs.ExitUsage, "", "exclude each other"},
		{"--all --json " + old + " " + slower, errs.ExitUsage, "", "no effect"},
		{"-n 3 --folded " + old + " " + slower, errs.ExitUsage, "", "no effect"},
		{"--html= " + old + " " + slower, errs.ExitUsage, "", "--html has an empty value"},
		{"--per minute " + old + " " + slower, errs.ExitUsage, "", "run, second or share"},
		{"--value bytes " + old + " " + slower, errs.ExitUsage, "", "the old recording"},
		{old, errs.ExitUsage, "", "takes two files"},
		{"- -", errs.ExitUsage, "", "only one of the recordings"},
		{old + " /no/such/file", errs.ExitFailed, "", "no such file"},
	} {
		dir := filepath.Dir(filepath.Dir(old)) // its name may have blanks
		args := strings.Fields(strings.ReplaceAll(c.args, dir+"/", ""))
		p := start(t, dir, nil, append([]string{"diff"}, args...)...)
		if code := p.code(t); code != c.code || !strings.Contains(p.out.String(), c.out) ||
			!strings.Contains(p.err.String(), c.err) {
			t.Errorf("diff %s: exit code %d, want %d, %q and %q; got %q, %q", c.args, code, c.code, c.out, c.err, &p.out, &p.err)
		}
		if c.code == errs.ExitUsage && p.out.String() != "" {
			t.Errorf("diff %s: output with wrong usage: %q", c.args, &p.out)
		}
	}
	if s, err := os.Stat(page); err != nil || s.Mode().Perm() != 0o600 {
		t.Errorf("mode of the page: %v %v, want 0600", s, err)
	}
}
