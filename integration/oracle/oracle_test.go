// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// shortSteps is the default of ORACLE_STEPS in make test-all. ORACLE_TIME bounds the time: each program gets its
// share. ORACLE_SECTIONS selects sections (Options.Only).
const shortSteps = 120_000

// floors are the least shares of exact chains without tables, in percent: with the functions' bounds, and without
// (benchmarks/results/oracle.md). They are of the code: a program of one thread executes the same steps in every
// run. Go's scheduler does not, so its shares are only logged; nor does a run that ORACLE_TIME cuts short.
var floors = map[string][2]float64{
	"libc": {99.5, 94},
	"libs": {99.5, 99},
	"cpp":  {99.5, 99},
	"rust": {99.5, 98},
}

func TestWalksAreExactAtEveryInstruction(t *testing.T) {
	steps := testtargets.Times(shortSteps/10, shortSteps)
	if s := os.Getenv("ORACLE_STEPS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("ORACLE_STEPS is not a number: %v", err)
		}
		steps = n
	}
	var limit time.Duration
	if s := os.Getenv("ORACLE_TIME"); s != "" {
		var err error
		if limit, err = time.ParseDuration(s); err != nil {
			t.Fatalf("ORACLE_TIME: %v", err)
		}
	}
	dir := t.TempDir()
	var all Tally
	for i := range Programs {
		p := &Programs[i]
		t.Run(p.Name, func(t *testing.T) {
			if i > 0 && limit == 0 {
				testtargets.OnlyInAll(t, "another program")
			}
			testtargets.NeedProgram(t, p.build[0])
			file, err := p.Build(dir)
			if err != nil {
				t.Fatal(err)
			}
			var one Tally
			opt := Options{Steps: int(float64(steps) * p.Share), Show: 3, Log: t.Logf, Only: os.Getenv("ORACLE_SECTIONS")}
			if limit > 0 {
				opt.Until = time.Now().Add(time.Duration(float64(limit) * p.Share))
			}
			if err := Run(p.Name, []string{file}, opt, &one); err != nil {
				t.Fatal(err)
			}
			checkChains(t, &one)
			checkFloors(t, p.Name, &one, limit == 0 && steps >= shortSteps)
			all.Add(&one)
		})
	}
	var b strings.Builder
	all.Write(&b, 15)
	t.Log("\n" + b.String())
}

func checkChains(t *testing.T, got *Tally) {
	t.Helper()
	n, right, _ := got.Checked(WithCFI)
	if right != n || n == 0 {
		t.Errorf("with call frame information %d of %d chains are exact, want all, of %d steps", right, n, got.Steps())
	}
	if _, _, wrongs := got.Checked(WithCFISP); wrongs > 0 {
		t.Errorf("with only sp and pc known %d chains are wrong, want none", wrongs)
	}
}

func checkFloors(t *testing.T, name string, got *Tally, whole bool) {
	t.Helper()
	least, known := floors[name]
	for i, j := range []Judge{WithBounds, Bare} {
		n, right, _ := got.Checked(j)
		share := 100 * float64(right) / float64(max(n, 1))
		t.Logf("%v: %.3f %% of the chains are exact", j, share)
		if whole && known && runtime.GOARCH == "amd64" && share < least[i] {
			t.Errorf("%v: %.3f %% of the chains are exact, want at least %.1f %%", j, share, least[i])
		}
	}
}

func exactly(t *testing.T, name, file string, o Options) (got *Tally, in map[string]int) {
	t.Helper()
	got, in = &Tally{}, map[string]int{}
	o.Show, o.Log, o.Each = 3, t.Logf, func(function string) { in[function]++ }
	if err := Run(name, []string{file}, o, got); err != nil {
		t.Fatal(err)
	}
	for _, j := range []Judge{WithCFI, WithBounds} {
		if n, right, _ := got.Checked(j); right != n || n == 0 {
			t.Errorf("%v: %d of %d chains are exact, want all", j, right, n)
		}
	}
	if _, _, wrongs := got.Checked(WithCFISP); wrongs > 0 {
		t.Errorf("with only sp and pc known %d chains are wrong, want none", wrongs)
	}
	return got, in
}
