// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

var update = flag.Bool("update", false, "write a new baseline")

var baselinePath = filepath.Join("testdata", "baseline_"+runtime.GOARCH+".json")

var targets = []struct {
	name              string
	burners, sleepers int
}{
	{"1 running, 2 sleeping", 1, 2},
	{"1 running, 300 sleeping", 1, 300},
	{"300 sleeping", 0, 300},
}

// The least calls, bytes and allocations of one look, of 50, are of the code: they do not depend on the machine's
// load. Those of a tick do, as threads are queued: BenchmarkTick reports them, and with -update they are measured
// for it here.
func TestNoCountHasRisen(t *testing.T) {
	dir := t.TempDir()
	binary, err := compile(dir, "crowd")
	if err != nil {
		t.Fatal(err)
	}
	nursery, err := compile(dir, "nursery")
	if err != nil {
		t.Fatal(err)
	}
	fresh, old := baseline{}, baseline{}
	if !*update {
		old, err = readBaseline(baselinePath)
		if errors.Is(err, fs.ErrNotExist) {
			testtargets.Need(t, false, "figures of "+runtime.GOARCH, "go -C benchmarks test ./counts -run Risen -update")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Run("observations", func(t *testing.T) {
		c := begin(t, binary, 1, 50)
		judge(t, old, fresh, func() (values, error) { return looks(c) }, "")
	})
	if !*update {
		return
	}
	_, stop, err := start(nursery)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, x := range targets {
		t.Run(x.name, func(t *testing.T) {
			c := begin(t, binary, x.burners, x.sleepers)
			s, err := sample(c)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(settled) // what is measured is the usual tick, not the first ones
			judge(t, old, fresh, func() (values, error) { return s.ticks(), nil }, x.name+": ")
			judge(t, old, fresh, func() (values, error) { return s.allocations(), nil }, x.name+": ")
			if err := s.stop(); err != nil {
				t.Error(err)
			}
		})
	}
	if !t.Failed() {
		if err := fresh.write(baselinePath); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(baselinePath)
		fmt.Printf("%s\n%s", baselinePath, text)
	}
}

// BenchmarkTick reports the counts of a tick, and above-limit: how many of them are above those of the baseline.
func BenchmarkTick(b *testing.B) {
	dir := b.TempDir()
	binary, err := compile(dir, "crowd")
	if err != nil {
		b.Fatal(err)
	}
	old, err := readBaseline(baselinePath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
	for _, x := range targets {
		b.Run(x.name, func(b *testing.B) {
			s, err := sample(begin(b, binary, x.burners, x.sleepers))
			if err != nil {
				b.Fatal(err)
			}
			time.Sleep(settled) // what is measured is the usual tick, not the first ones
			var least values
			for range b.N {
				named := values{}
				for name, n := range s.ticks() {
					named[x.name+": "+name] = n
				}
				least = lower(least, named)
			}
			if err := s.stop(); err != nil {
				b.Error(err)
			}
			for name, n := range least {
				b.ReportMetric(n, strings.TrimPrefix(name, x.name+": ")+"/tick")
			}
			b.ReportMetric(float64(len(old.risen(least))), "above-limit")
			for _, line := range old.risen(least) {
				b.Log(line)
			}
		})
	}
}

func begin(t testing.TB, binary string, burners, sleepers int) *crowd {
	t.Helper()
	c, err := startCrowd(binary, burners, sleepers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

func judge(t *testing.T, old, fresh baseline, measure func() (values, error), prefix string) {
	t.Helper()
	var least values
	var risen []string
	for range runs {
		got, err := measure()
		if err != nil {
			t.Fatal(err)
		}
		named := values{}
		for name, n := range got {
			named[prefix+name] = n
		}
		fresh.add(named)
		least = lower(least, named)
		if risen = old.risen(least); len(risen) == 0 && !*update {
			break
		}
	}
	t.Logf("%v", least)
	for _, line := range risen {
		if !*update {
			t.Error(line)
		}
	}
}

func TestACountAboveItsLimitHasRisen(t *testing.T) {
	b := baseline{}
	for _, n := range []float64{10, 11, 12} {
		b.add(values{"spread": n, "exact": 7})
	}
	if got := b.risen(values{"spread": 14, "exact": 7}); len(got) != 0 {
		t.Error(got)
	}
	if got := b.risen(values{"spread": 14.01, "exact": 7.01, "new": 0}); len(got) != 3 {
		t.Error(got)
	}
}

func TestABaselineIsReadAsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.json")
	b := baseline{"a": {1, 2.25}, "b: c": {0}}
	if err := b.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readBaseline(path)
	if err != nil || len(got) != 2 || got["a"][1] != 2.25 || len(got["b: c"]) != 1 {
		t.Errorf("%v %v", got, err)
	}
}
