// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/runstats"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

func handmade(system string, stacks ...[][2]string) *profile.Profile {
	m := &profile.Mapping{ID: 1, File: "[" + system + "]"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Mapping:    []*profile.Mapping{m}, DefaultSampleType: "cpu",
	}
	for i, stack := range stacks {
		s := &profile.Sample{Value: []int64{100, 1e9 << i}}
		for _, at := range stack {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: at[0], SystemName: at[0], Filename: at[1]}
			l := &profile.Location{ID: f.ID, Mapping: m, Line: []profile.Line{{Function: f, Line: 1}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func TestGoroutinesThatWaitHeadEachForm(t *testing.T) {
	p := fixture(t)
	const line = "svc (pid 7): 21 goroutines that wait are not shown (20 chan receive, 1 sleep); to see their stacks: dlv"
	p.Comments = append(p.Comments, line)
	for _, o := range []Options{{}, {By: "wait"}, {By: "wait", Width: 80}, {By: "thread"}} {
		text := render(t, Table, p, o)
		if strings.Count(strings.Join(strings.Fields(text), " "), line) != 1 {
			t.Errorf("%+v:\n%s", o, text)
		}
		for _, l := range strings.Split(text, "\n") {
			if o.Width > 0 && len([]rune(l)) > o.Width {
				t.Errorf("wider than %d: %q", o.Width, l)
			}
		}
	}
}

func TestChildrenThatHardlyRanAreOnlyInTheAccount(t *testing.T) {
	p := fixture(t)
	idle, busy := runstats.UnrecordedChildren(4, 0), runstats.UnrecordedChildren(3, 1.2)
	p.Comments = append(p.Comments, idle, busy)
	text := strings.Join(strings.Fields(render(t, Table, p, Options{})), " ")
	if strings.Contains(text, idle) || !strings.Contains(text, busy) {
		t.Errorf("%s", text)
	}
	if text = strings.Join(strings.Fields(render(t, Account, p, Options{})), " "); !strings.Contains(text, idle) {
		t.Errorf("the account: %s", text)
	}
}

const installedPython = "/usr/lib/python3/dist-packages/"

func TestModulesOfManagedFunctions(t *testing.T) {
	p := handmade("CPython 3.12.1",
		[][2]string{{"execute", installedPython + "django/db/utils.py"},
			{"inner", installedPython + "django/db/transaction.py"},
			{"index", "/srv/shop/views.py"}, {"<module>", "/srv/shop/manage.py"}},
		[][2]string{{"inner", "/srv/shop/decorators.py"}, {"<module>", "/srv/shop/other.py"}})
	_, table, _ := strings.Cut(render(t, Table, p, Options{Full: true}), "\n\n")
	words := strings.Join(strings.Fields(table), " ")
	for _, want := range []string{" execute django.db ", " index views.py ", " <module> (manage.py) manage.py",
		" <module> (other.py) other.py ", " inner (decorators.py) ", " inner (django/db/transaction.py) django.db "} {
		if !strings.Contains(words, want) {
			t.Errorf("lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "[CPython") {
		t.Errorf("a function has the run-time system as its module:\n%s", table)
	}
	groups := render(t, Table, p, Options{By: "module"})
	for _, want := range []string{"  django.db\n", "  decorators.py\n"} {
		if !strings.Contains(groups, want) {
			t.Errorf("--by module lacks %q:\n%s", want, groups)
		}
	}
	for _, form := range []string{render(t, Tree, p, Options{}), render(t, Folded, p, Options{})} {
		if !strings.Contains(form, "<module> (manage.py)") {
			t.Errorf("the file is missing:\n%s", form)
		}
	}
}

func TestFunctionsAreSortedByTotal(t *testing.T) {
	p := fixture(t)
	for order, first := range map[string]string{"": "compress", "self": "compress", "total": "worker"} {
		var b bytes.Buffer
		if err := JSON(&b, p, false, Options{Sort: order}); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Functions []struct {
				Name  string
				Total map[string]int64
			}
			Recorded string
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Functions[0].Name != first {
			t.Errorf("by %q: %v, %s is first, want %s", order, err, got.Functions[0].Name, first)
		}
		for i := 1; i < len(got.Functions) && order == "total"; i++ {
			if got.Functions[i-1].Total["cpu"] < got.Functions[i].Total["cpu"] {
				t.Errorf("%s is before %s", got.Functions[i-1].Name, got.Functions[i].Name)
			}
		}
		if got.Recorded != "2023-11-14T22:13:20Z" {
			t.Errorf("recorded %q", got.Recorded)
		}
	}
	if err := Table(&bytes.Buffer{}, p, Options{Sort: "name"}); err == nil {
		t.Error("sorted by what is no order")
	}
}

func TestCommandsHaveTheTimeOfTheirShortLives(t *testing.T) {
	p := fixture(t)
	for i, label := range []map[string][]string{
		{"comm": {"make"}, "thread": {"make"}}, {"comm": {"make"}, "thread": {"[children: cc1]"}},
		{"comm": {"cc1"}, "thread": {"cc1"}}, {"comm": {"sh"}, "thread": {"[children: cc1]"}},
	} {
		p.Sample[i].Label = label
		if strings.HasPrefix(label["thread"][0], "[") {
			p.Sample[i].NumLabel = map[string][]int64{"pid": {100}}
		}
	}
	d, err := view.New(p, Options{By: "command", Value: "samples"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, g := range d.Groups("command") {
		got[g.Name] = g.Value
	}
	if got["cc1"] != 69+50+48 || got["make"] != 30 || got["sh"] != 0 {
		t.Errorf("%v", got)
	}
}

func TestAReportSaysHowOldItsRecordingIs(t *testing.T) {
	if got := render(t, Table, fixture(t), Options{}); !strings.Contains(got,
		"recorded 2023-11-14 22:13:20 UTC · 3 minutes ago") {
		t.Errorf("the head does not tell:\n%s", got)
	}
	s := view.Summary{Start: time.Unix(1_700_000_000, 0)}
	for after, want := range map[time.Duration]string{
		0: "just now", time.Second: "1 second ago", 59 * time.Minute: "59 minutes ago", 25 * time.Hour: "1 day ago",
		70 * 24 * time.Hour: "2 months ago", 800 * 24 * time.Hour: "2 years ago",
		-time.Hour: "in the future, by this machine's clock",
	} {
		if got := s.Recorded(s.Start.Add(after)); got[1] != want {
			t.Errorf("%s after: %s, want %s", after, got, want)
		}
	}
	if s := (view.Summary{}); s.Recorded(time.Now()) != nil {
		t.Error("a profile without a time has one")
	}
}

// Java sleeps in a condition of the thread; the label has that, or sleep where it was known.
func TestSleepsOfJavaAreOneGroup(t *testing.T) {
	jvm := &rec.ModuleInfo{Start: 0x7f2000000000, End: 0x7f2000001000, Bias: 0x7f2000000000, Path: "[HotSpot 17.0.15]"}
	names := nameTable{jvm.Path: {
		0x10: fn("java.lang.Thread.sleep0", "Thread.java", 0), 0x20: fn("App.nap", "App.java", 0),
		0x30: fn("App.await", "App.java", 0),
	}}
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 10 * time.Millisecond, Main: app})
	for i, c := range []struct {
		stack []rec.Loc
		waits string
	}{
		{at(jvm, 0x10, 0x20), "sleep"}, {at(jvm, 0x10, 0x20), "condition 0x7f3970011c78"},
		{at(jvm, 0x30), "condition 0x7f3970011d78"},
	} {
		b.Add(rec.Interval{Stack: b.Intern(c.stack), PID: 7, TID: 8 + i, State: "sleeping", Wait: "futex",
			WaitsFor: c.waits, Samples: 1, Wall: 1e7})
	}
	p := parsed(t, b, names)
	for by, want := range map[string][]string{
		"wait": {"futex: sleep (2 threads)", "futex: condition in App.await (1 thread)"},
		"lock": {"[no lock]", "condition 0x7f3970011d78"},
	} {
		text := render(t, Table, p, Options{By: by})
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("--by %s lacks %q:\n%s", by, line, text)
			}
		}
		if strings.Contains(text, "11c78") {
			t.Errorf("--by %s: a sleep is a condition:\n%s", by, text)
		}
	}
}
