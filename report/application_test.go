// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// pythonShop has a program that calls sqlite3 from one line, json and a function without the program's.
func pythonShop() *profile.Profile {
	c := newContention()
	c.p.TimeNanos, c.p.DurationNanos = 1e15, 1e9
	python := &profile.Mapping{ID: 1, File: "[CPython 3.11.2]"}
	sqlite := &profile.Mapping{ID: 2, File: "/usr/lib/libsqlite3.so.0.8.6"}
	binary := &profile.Mapping{ID: 3, File: "/usr/bin/python3.11"}
	c.p.Mapping = []*profile.Mapping{python, sqlite, binary}
	function := func(name, file string, line int64, m *profile.Mapping) *profile.Location {
		l := synthetic(c.p, name)
		l.Mapping, l.Line[0].Line, l.Line[0].Function.Filename = m, line, file
		return l
	}
	app := "/srv/shop/app.py"
	main, handle := function("main", app, 20, python), function("handle", app, 12, python)
	load, step := function("load", app, 7, python), function("sqlite3VdbeExec", "", 0, sqlite)
	encode := function("encode", "/usr/lib/python3.11/json/encoder.py", 3, python)
	collect := function("gc_collect_main", "", 0, binary)
	for i := range int64(40) {
		for n, stack := range [][]*profile.Location{{step, load, handle, main}, {encode, handle, main}, {collect}} {
			ms := []int64{14, 10, 1}[n]
			end := 25*i + []int64{14, 24, 25}[n]
			s := &profile.Sample{Location: stack, Value: []int64{1, ms * 1e6, 0, ms * 1e6},
				Label:    map[string][]string{rec.LabelComm: {"python3"}, rec.LabelState: {"running"}},
				NumLabel: map[string][]int64{rec.LabelPID: {7}, rec.LabelTID: {7}, rec.LabelEnd: {1e15 + end*1e6}}}
			c.p.Sample = append(c.p.Sample, s)
		}
	}
	c.p.DefaultSampleType = rec.TypeCPU
	return c.p
}

func tableOf(text string) string { _, table, _ := strings.Cut(text, "\n\n"); return table }

func TestAProgramsOwnFunctionsComeFirst(t *testing.T) {
	const want = `self% self  total% total  function (cpu)    module
   0%   0s     96% 960ms  main              app.py
   0%   0s     96% 960ms  handle            app.py
                          …in json (40%), called often (40 short stays were seen, from line 12)
   0%   0s     56% 560ms  load              app.py
                          …in sqlite3 (56%), called often (40 short stays were seen, from line 7)
… outside of these functions: CPython's garbage collector (4%); --full shows the functions of libraries, too
`
	if got := tableOf(render(t, Table, pythonShop(), Options{})); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestRowsLimitTheProgramsFunctions(t *testing.T) {
	got := tableOf(render(t, Table, pythonShop(), Options{N: 2}))
	if !strings.Contains(got, "… 1 more function of the program; outside") || strings.Contains(got, "load") {
		t.Error(got)
	}
}

func TestAllFunctionsAreShownWhenAskedFor(t *testing.T) {
	for name, o := range map[string]Options{"full": {Full: true}, "sort": {Sort: "self"}, "lines": {Lines: true},
		"native": {Native: true}, "by": {By: "thread"}} {
		got := render(t, Table, pythonShop(), o)
		if !strings.Contains(got, "sqlite3VdbeExec") || strings.Contains(got, "…in") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func TestFoldsFitTheTerminal(t *testing.T) {
	for _, line := range strings.Split(tableOf(render(t, Table, pythonShop(), Options{Width: 60})), "\n") {
		if len([]rune(line)) > 60 {
			t.Errorf("%d columns: %q", len([]rune(line)), line)
		}
	}
}

func TestBurstsAreShownBesideTheMean(t *testing.T) {
	c := newContention()
	c.p.TimeNanos, c.p.DurationNanos = 1e15, 30e9
	for _, at := range []int64{6.5e9, 16.5e9, 26.5e9} {
		for tid := range int64(6) {
			c.add(10+tid, "save", at, at+3e8, "mutex mu", 0)
		}
	}
	const line = "    |      █         █         █   | 0s to 30.0s; up to 6 at once, in 3 bursts of 300ms " +
		"(at 6.50s, 16.5s, 26.5s)\n"
	if got := render(t, Table, c.p, Options{By: "wait"}); !strings.Contains(got, line) {
		t.Errorf("got:\n%s\nwant %s", got, line)
	}
	const fields = `"at_once":{"most":6,"bursts":[{"begin":6500000000,"length":300000000},`
	if got := render(t, func(w io.Writer, p *profile.Profile, o Options) error { return JSON(w, p, false, o) }, c.p,
		Options{By: "wait"}); !strings.Contains(got, fields) {
		t.Errorf("got: %s\nwant %s", got, fields)
	}
}

func TestManyBurstsAreNotAllListed(t *testing.T) {
	c := newContention()
	c.p.TimeNanos, c.p.DurationNanos = 1e15, 30e9
	for i := range int64(7) {
		for tid := range int64(2) {
			c.add(10+tid, "save", i*4e9, i*4e9+1e8*(1+i), "mutex mu", 0)
		}
	}
	const text = "up to 2 at once, in 7 bursts of 100ms to 700ms (at 0s, 4.00s, 8.00s, 12.0s, 16.0s …)"
	if got := render(t, Table, c.p, Options{By: "wait"}); !strings.Contains(got, text) {
		t.Errorf("got:\n%s\nwant %s", got, text)
	}
}

// Calls as large as the last one are shown, too.
func TestRowsLimitCallersAndCallees(t *testing.T) {
	callees := func(w io.Writer, p *profile.Profile, o Options) error { return Callees(w, p, "handle", o) }
	all := []string{"handle  app.py", "load", "sqlite3VdbeExec", "encode"}
	for n, shown := range map[int]int{0: 4, -1: 4, 1: 1, 2: 3, 3: 3, 4: 4, 9: 4} {
		got := tableOf(render(t, callees, pythonShop(), Options{N: n}))
		for i, name := range all {
			if strings.Contains(got, name) != (i < shown) {
				t.Errorf("-n %d: want the first %d of %v:\n%s", n, shown, all, got)
			}
		}
		if strings.Contains(got, "…") != (shown < 4) {
			t.Errorf("-n %d: the rest is not counted:\n%s", n, got)
		}
	}
}
