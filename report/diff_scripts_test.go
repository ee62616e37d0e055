// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
)

func TestSeveralRunsCompareFunctionsOfScripts(t *testing.T) {
	runs := func(ticks ...int64) (all []*profile.Profile) {
		for _, n := range ticks {
			p := ticked(t, 10, map[uint64]int64{0x20: n, 0x40: 100})
			for _, m := range p.Mapping {
				m.File = "[anon]"
			}
			all = append(all, p)
		}
		return all
	}
	d, err := DiffRuns(runs(100, 102, 98), runs(200, 204, 196), DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !slices.ContainsFunc(slices.Collect(maps.Keys(valuesOf(d.new.sum, nil, "run"))), isScript) {
		t.Fatal("no function counts as one of a script")
	}
	if c := d.of("serve"); c.Self.Old != 1e9 || c.Self.New != 2e9 || !c.Self.Significant {
		t.Errorf("serve: %+v", c.Self)
	}
	if share, what := d.LargestGrowth(); share < 0.4 {
		t.Errorf("the worst growth is %v, %q", share, what)
	}
}

func isScript(f view.Frame) bool { return f.Script }
