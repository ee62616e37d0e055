// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shortSteps is the default of ORACLE_STEPS. ORACLE_TIME bounds the time: each program gets its share. ORACLE_SECTIONS
// selects sections (Options.Only).
const shortSteps = 120_000

// floors are the least shares of exact chains without tables, in percent: with the functions' bounds, and without
// (benchmarks/results/oracle.md).
var floors = map[string][2]float64{
	"libc": {99.5, 94},
	"libs": {99.5, 99},
	"cpp":  {99.5, 99},
	"rust": {99.5, 98},
	"go":   {99.5, 80},
}

// Go's morestack keeps its caller's return address only in the scheduler's words when it calls another function,
// glibc's swapcontext only in the context. Without bounds setcontext and longjmp are missing, too: 1 % of libc's steps.
// A run that ORACLE_TIME cuts short has the same faults in fewer steps: 22 of 1,961 in cpp.
var floorsARM64 = map[string][2]float64{"cpp": {99.5, 97}, "go": {98, 80}, "libc": {97, 88}}

func TestWalksAreExactAtEveryInstruction(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("unwinding is supported on amd64 and arm64 only")
	}
	steps := shortSteps
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
			if _, err := exec.LookPath(p.build[0]); err != nil {
				t.Skipf("needs %s, which scripts/setup-tests.sh installs", p.build[0])
			}
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
			checkFloors(t, p.Name, &one)
			all.Add(&one)
		})
	}
	var b strings.Builder
	all.Write(&b, 15)
	t.Log("\n" + b.String())
}

func checkFloors(t *testing.T, name string, got *Tally) {
	t.Helper()
	n, right, _ := got.Checked(WithCFI)
	if right != n || n < got.Steps()*95/100 {
		t.Errorf("with call frame information %d of %d chains are exact, want all, of %d steps", right, n, got.Steps())
	}
	if _, _, wrongs := got.Checked(WithCFISP); wrongs > 0 {
		t.Errorf("with only sp and pc known %d chains are wrong, want none", wrongs)
	}
	least := floors[name]
	if f, ok := floorsARM64[name]; ok && runtime.GOARCH == "arm64" {
		least = f
	}
	for i, j := range []Judge{WithBounds, Bare} {
		n, right, _ := got.Checked(j)
		if share := 100 * float64(right) / float64(max(n, 1)); share < least[i] {
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
