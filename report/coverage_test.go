// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"

	rec "prywalk/internal/store/profile"
)

func TestNamesThatAreThereAreNotAskedFor(t *testing.T) {
	php := &rec.ModuleInfo{Start: 0x400000, End: 0x500000, Bias: 0x400000, Path: "/usr/bin/php8.2"}
	made := &rec.ModuleInfo{Start: 0x600000, End: 0x700000, Bias: 0x600000, Path: "[anon]"}
	names := nameTable{php.Path: {0x10: fn("execute_ex", "", 0), 0x20: fn("main", "", 0)},
		made.Path: {0x10: fn("TRACE-1$invoice_total$5", "", 0)}}
	for _, c := range []struct {
		mapped bool
		share  int64
	}{{true, 100}, {true, 2}, {false, 100}} {
		mapped := c.mapped
		b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7, Main: php})
		leaf := at(made, 0x10)
		if !mapped {
			leaf = at(php, 0x30)
		}
		stack := b.Intern(join(leaf, at(php, 0x10, 0x20)))
		b.Add(rec.Interval{PID: 7, TID: 7, Comm: "php", State: "running", Samples: c.share, Wall: c.share * 1e7,
			CPU: c.share * 1e7, End: 1_700_000_001e9, Stack: stack})
		rest := b.Intern(at(php, 0x10, 0x20))
		b.Add(rec.Interval{PID: 7, TID: 7, Comm: "php", State: "running", Samples: 100 - c.share,
			Wall: (100 - c.share) * 1e7, CPU: (100 - c.share) * 1e7, End: 1_700_000_001e9, Stack: rest})
		b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
		got := render(t, Table, parsed(t, b, names), Options{})
		if !strings.Contains(got, "execute_ex") || strings.Contains(got, "opcache.jit_debug=0x10") == mapped {
			t.Errorf("with a perf map: %v:\n%s", mapped, got)
		}
	}
}

// A sleeping thread uses a tick of CPU time without a sample. Shares are shown from 5 ticks on.
func TestNoShareOfHardlyAnyTimeIsReported(t *testing.T) {
	const tick = 10_000_000
	for _, c := range []struct {
		named, unseen int64
		want          string
		causes        bool
	}{
		{tick / 4, tick, "almost no CPU time", false},
		{0, 5*tick - 5, "almost no CPU time", false},
		{0, 5 * tick, " · 0.0% named", true},
		{tick, 99 * tick, " · 1.0% named", true},
		{tick, 0, " · 100.0% named", false},
	} {
		b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: tick, Main: app})
		sleeper := rec.Interval{PID: 7, TID: 7, Comm: "kvd", State: "sleeping", Samples: 200, Wall: 2e9 - c.unseen,
			CPU: c.named}
		sleeper.End, sleeper.Stack = 1_700_000_002e9, b.Intern(at(app, 0x10))
		b.Add(sleeper)
		unseen := []rec.Loc{{Synthetic: "[ran between ticks]"}}
		b.Add(rec.Interval{PID: 7, TID: 7, Comm: "kvd", State: "running", Wall: c.unseen, CPU: c.unseen, End: 1_700_000_002e9,
			Stack: b.Intern(unseen)})
		got := render(t, Table, parsed(t, b, fixtureNames), Options{})
		if head, _, _ := strings.Cut(got, "\n\n"); !strings.Contains(head, c.want) {
			t.Errorf("%d of %d: the head lacks %q: %s", c.named, c.unseen, c.want, head)
		}
		if strings.Contains(got, "Time without a function:") != c.causes {
			t.Errorf("%d of %d: causes are told, want %v:\n%s", c.named, c.unseen, c.causes, got)
		}
	}
}

func TestCPUOfBuiltInsIsThatOfTheScriptsFunction(t *testing.T) {
	python := &rec.ModuleInfo{Start: 0x400000, End: 0x500000, Bias: 0x400000, Path: "/usr/bin/python3.12"}
	script := &rec.ModuleInfo{Start: 0x600000, End: 0x700000, Bias: 0x600000, Path: "[CPython 3.12.1]"}
	names := nameTable{script.Path: {0x10: fn("handle", "/app/views.py", 3)}}
	for _, called := range []bool{true, false} {
		b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7, Main: python})
		stack := at(python, 0x30)
		if called {
			stack = join(stack, at(script, 0x10))
		}
		b.Add(rec.Interval{PID: 7, TID: 7, Comm: "python3.12", State: "running", Samples: 100, Wall: 1e9, CPU: 1e9,
			End: 1_700_000_001e9, Stack: b.Intern(join(stack, at(python, 0x20)))})
		b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
		head, _, _ := strings.Cut(render(t, Table, parsed(t, b, names), Options{}), "\n\n")
		if strings.Contains(head, " · 100.0% named") != called {
			t.Errorf("called by a script: %v: %s", called, head)
		}
	}
}

func TestAStrippedProgramsFunctionsAreRowsOfTheirOwn(t *testing.T) {
	own := &rec.ModuleInfo{Start: 0x400000, End: 0x500000, Bias: 0x400000, Path: "/home/a/p"}
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7, Main: own})
	names := nameTable{own.Path: {0x10: fn("p+0x1600", "", 0), 0x20: fn("p+0x1700", "", 0)}}
	for i, pc := range []uint64{0x10, 0x20} {
		b.Add(rec.Interval{PID: 7, TID: 7, Comm: "p", State: "running", Samples: 50, Wall: 1e9, CPU: 1e9,
			End: 1_700_000_001e9 + int64(i), Stack: b.Intern(at(own, pc))})
	}
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
	got := render(t, Table, parsed(t, b, names), Options{})
	for _, want := range []string{" · 0.0% named · ", "[p]: functions known by address only", "--symbols FILE",
		"p+0x1600  p", "p+0x1700  p",
		"p+0x…: functions without symbols", "link it without -s"} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if strings.Contains(got, "(unnamed)") {
		t.Errorf("%s", got)
	}
}
