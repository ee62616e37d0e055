// SPDX-License-Identifier: Apache-2.0

package view

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/incomplete"
	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
)

func TestAgeOfARecording(t *testing.T) {
	const day = 24 * time.Hour
	for age, want := range map[time.Duration]string{
		-1: "in the future, by this machine's clock", 0: "just now",
		time.Second - 1: "just now", time.Second: "1 second ago", 119 * time.Second: "1 minute ago",
		2 * time.Hour: "2 hours ago",
		day:           "1 day ago", 30*day - 1: "29 days ago", 30 * day: "1 month ago", 800 * day: "2 years ago"} {
		if got := ago(age); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
	start := time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC)
	s := Summary{Start: start.In(time.FixedZone("", 3600))}
	want := []string{"recorded 2024-02-29 23:59:59 UTC", "1 minute ago"}
	if got := s.Recorded(start.Add(time.Minute)); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (&Summary{}).Recorded(start); got != nil {
		t.Errorf("without a start: %q", got)
	}
}

func TestTargetOfASummary(t *testing.T) {
	for _, c := range []struct {
		procs    map[int64]string
		mappings []string
		want     string
	}{
		{nil, nil, "profile"},
		{nil, []string{"/usr/bin/app"}, "app"},
		{nil, []string{""}, "profile"},
		{map[int64]string{7: ""}, []string{"/usr/bin/app"}, "app"},
		{map[int64]string{7: "app"}, []string{"/usr/bin/other"}, "app (pid 7)"},
		{map[int64]string{7: "app", 8: "app"}, nil, "app (2 processes)"},
		{map[int64]string{7: "app", 8: ""}, nil, "app (2 processes)"},
		{map[int64]string{1: "d", 2: "c", 3: "b", 4: "a"}, nil, "a, b, c, d (4 processes)"},
		{map[int64]string{1: "e", 2: "d", 3: "c", 4: "b", 5: "a"}, nil, "a, b, c, d, … (5 processes)"},
	} {
		p := &profile.Profile{}
		for _, file := range c.mappings {
			p.Mapping = append(p.Mapping, &profile.Mapping{File: file})
		}
		if got := target(p, c.procs); got != c.want {
			t.Errorf("%v, %q: %q, want %q", c.procs, c.mappings, got, c.want)
		}
	}
}

// truncated has 100 of 400 ms of CPU time in an incomplete stack.
func truncated() *recording {
	r := newTimedRecording(time.Second)
	whole := []*profile.Location{r.location("work", "/srv/app"), r.location("main", "/srv/app")}
	broken := []*profile.Location{r.location("odd", "/srv/liby.so"), r.location(incomplete.Name("depth"), "")}
	r.addStack(whole, 3, 300e6, 0, 300e6)
	r.addStack(broken, 1, 600e6, 0, 100e6)
	return r
}

func TestSumsOfTheHeadSayHowManyStacksAreComplete(t *testing.T) {
	for value, want := range map[string][]string{
		rec.TypeCPU: {"", "wall 900ms", "runqueue 0s", "cpu 400ms (75.0% with complete stacks)"},
		rec.TypeWall: {"", "wall 900ms (33.3% with complete stacks)", "runqueue 0s",
			"cpu 400ms (75.0% with complete stacks)"},
	} {
		if got := truncated().data(t, Options{Value: value}).Values(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
	d := truncated().data(t, Options{})
	if s := d.Summary(); s.Samples != 4 || s.Complete != 0.75 {
		t.Errorf("%d samples, %v complete; want 4, 0.75", s.Samples, s.Complete)
	}
	other := newRecording(rec.TypeCPU)
	other.add("work", 1)
	d = other.data(t, Options{})
	if got, want := d.Values(), []string{"cpu 1ns"}; !reflect.DeepEqual(got, want) || d.Summary().Complete != -1 {
		t.Errorf("of another profiler: %q, %v complete", got, d.Summary().Complete)
	}
}

func TestTheCauseOfIncompleteStacksIsOfCPUTimeIfAny(t *testing.T) {
	e, clock := truncated().data(t, Options{Value: rec.TypeWall}).Incomplete()
	if e.Reason != "depth" || clock != rec.TypeCPU {
		t.Errorf("%+v of %q", e, clock)
	}
	r := newTimedRecording(time.Second)
	r.addStack([]*profile.Location{r.location("odd", "/srv/liby.so"), r.location(incomplete.Name("depth"), "")}, 0,
		6e8, 0, 0)
	d := r.data(t, Options{Value: rec.TypeWall})
	if e, clock = d.Incomplete(); e.Reason != "depth" || clock != rec.TypeWall {
		t.Errorf("without CPU time: %+v of %q", e, clock)
	}
	guessed := newTimedRecording(time.Second)
	guessed.addStack([]*profile.Location{r.location("odd", "/srv/liby.so"), r.location(incomplete.Guessed, "")}, 5,
		6e8, 0, 6e8)
	complete := newTimedRecording(time.Second)
	complete.add("work", 5, 6e8, 0, 6e8)
	for want, d := range map[string]*Data{
		"Incomplete stacks: 100.0% of wall in [incomplete: depth]: ": d,
		"Incomplete stacks: 25.0% of cpu in [incomplete: depth]: ":   truncated().data(t, Options{Value: rec.TypeWall}),
		"Guessed frames: 100.0% of cpu in [guessed: scan]: ":         guessed.data(t, Options{Value: rec.TypeWall}),
	} {
		if got := d.WhyIncomplete(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := complete.data(t, Options{}).WhyIncomplete(); got != "" {
		t.Errorf("of complete stacks: %q", got)
	}
}

func TestCausesOfTimeWithoutAFunction(t *testing.T) {
	for _, c := range []struct {
		frame Frame
		want  string
	}{
		{Frame{Name: "[jit]", Module: "[jit]", Nameless: true},
			": code without symbols (a perf map names it, if the program can write one)"},
		{Frame{Name: "app+0x1600", Module: "app", Nameless: true},
			": functions known by address only (debug symbols name them)"},
		{Frame{Name: "[app]", Module: "app", Nameless: true}, ": functions without symbols (debug symbols name them)"},
		{Frame{Name: languages.FreedFunction, Module: "[PHP 8]"},
			": mostly functions that were freed soon after they had run (rarer with a spare CPU for prywalk)"},
		{Frame{Name: languages.MovedFunction, Module: "[V8 12]"}, ": by the collector (rarer with a spare CPU for prywalk)"},
		{Frame{Name: incomplete.Name("depth")}, ": stacks that could not be unwound to the end (reasons: report --account)"},
		{Frame{Name: "work", Module: "app"}, ""},
	} {
		if got := unnamedCause(&c.frame); got != c.want {
			t.Errorf("%+v: %q, want %q", c.frame, got, c.want)
		}
	}
	for name, part := range map[string]string{attribute.ExitedUnseen: ": threads that started ",
		attribute.ShortLivedChildren: ": processes that exited ", attribute.RanBetweenTicks: ": runs without a sample, ",
		attribute.InKernel: ": time in the kernel outside ", attribute.NotObserved: ": while the host was too busy "} {
		if got := unnamedCause(&Frame{Name: name}); !strings.HasPrefix(got, part) || !strings.HasSuffix(got, ")") {
			t.Errorf("%s: %q, want %q", name, got, part)
		}
	}
}

func TestNotesAreOfTheProcessWithMostOfTheTime(t *testing.T) {
	for other, want := range map[int64]int{9: 7, 10: 0} {
		r := newRecording(rec.TypeCPU)
		r.add("work", 100-other).NumLabel[rec.LabelPID] = []int64{7}
		r.add("work", other).NumLabel[rec.LabelPID] = []int64{8}
		r.mapping("[vdso]")
		d := r.data(t, Options{})
		if got := d.mainPID(); got != want {
			t.Errorf("of %d%% of another: %d, want %d", other, got, want)
		}
		files, mappings := d.mapped()
		if !reflect.DeepEqual(files, []string{"/srv/app"}) || !reflect.DeepEqual(mappings, []string{"/srv/app", "[vdso]"}) {
			t.Errorf("files %q, mappings %q", files, mappings)
		}
	}
	r := newRecording(rec.TypeCPU)
	r.addStack([]*profile.Location{r.location("", "[anon]")}, 100)
	d := r.data(t, Options{})
	want := "[anon]: machine code generated at run time, without symbols. "
	if got := d.Notes(d.Rows(d.Profile.Sample), "record again"); len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNamesInTables(t *testing.T) {
	for _, c := range []struct {
		frame                Frame
		label, shown, fitted string
	}{
		{Frame{Name: "work", Module: "app"}, "work", "work", "work"},
		{Frame{Name: "work", File: "/srv/shop/cart.py", Line: 12}, "work cart.py:12", "work cart.py:12", "work cart.py:12"},
		{Frame{Name: "<lambda>", File: "/srv/shop/cart.py"}, "<lambda> (cart.py)", "<lambda> (cart.py)",
			"<lambda> (cart.py)"},
		{Frame{Name: "[libz.so]", Module: "libz.so", Nameless: true}, "[libz.so]", "[libz.so] (unnamed)",
			"[libz.so] (unnamed)"},
		{Frame{Name: "[jit]", Module: "[jit]", Nameless: true}, "[jit]", "[jit]", "[jit]"},
		{Frame{Name: "libz.so+0x16", Module: "libz.so", Nameless: true}, "libz.so+0x16", "libz.so+0x16", "libz.so+0x16"},
		{Frame{Name: languages.FreedFunction, Module: "[PHP 8]"}, languages.FreedFunction,
			"[function gone before its name was read]", "[function gone… name was read]"},
		{Frame{Name: "a_function_with_a_very_long_name_indeed", File: "/srv/shop/cart.py", Line: 12},
			"a_function_with_a_very_long_name_indeed cart.py:12", "a_function_with_a_very_long_name_indeed cart.py:12",
			"a_functio…me_indeed cart.py:12"},
	} {
		if label, shown, fitted := c.frame.Label(), c.frame.DisplayName(), c.frame.FitName(30); label != c.label ||
			shown != c.shown || fitted != c.fitted {
			t.Errorf("%+v: %q, %q, %q; want %q, %q, %q", c.frame, label, shown, fitted, c.label, c.shown, c.fitted)
		}
	}
}

func TestLongNamesLoseTheirMiddleBetweenCharacters(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{strings.Repeat("x", longestName), strings.Repeat("x", longestName)},
		{strings.Repeat("x", longestName+1), strings.Repeat("x", longestName/2) + "…" + strings.Repeat("x", longestName/2)},
		{"x" + strings.Repeat("é", longestName), "x" + strings.Repeat("é", longestName/4-1) + "…" +
			strings.Repeat("é", longestName/4)},
		{strings.Repeat("é", longestName) + "x", strings.Repeat("é", longestName/4) + "…" +
			strings.Repeat("é", longestName/4-1) + "x"},
	} {
		if got := shownName(c.name); got != c.want {
			t.Errorf("%d bytes %q…: %d bytes, want %d", len(c.name), c.name[:4], len(got), len(c.want))
		}
	}
}
