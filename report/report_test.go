// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type form func(io.Writer, *profile.Profile, Options) error

func render(t testing.TB, f form, p *profile.Profile, o Options) string {
	t.Helper()
	var buf bytes.Buffer
	if err := f(&buf, p, o); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestTextFormsOfTheFixture(t *testing.T) {
	for name, c := range map[string]struct {
		form form
		opts Options
	}{
		"table":         {Table, Options{}},
		"table_wall":    {Table, Options{Value: "wall", N: 4}},
		"table_thread":  {Table, Options{By: "thread"}},
		"table_wait":    {Table, Options{By: "wait", Value: "wall", N: 2}},
		"table_module":  {Table, Options{By: "module", N: 3}},
		"table_lines":   {Table, Options{Lines: true, Width: 100}},
		"table_focus":   {Table, Options{Focus: "worker", Ignore: "walk|libblob"}},
		"table_color":   {Table, Options{Color: true, N: 2}},
		"tree":          {Tree, Options{}},
		"tree_wall":     {Tree, Options{Value: "wall", MinShare: 0.05, Width: 80}},
		"folded":        {Folded, Options{}},
		"folded_counts": {Folded, Options{Value: "samples", Lines: true}},
		"speedscope":    {Speedscope, Options{}},
		"firefox":       {Firefox, Options{Value: "wall"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := render(t, c.form, fixture(t), c.opts)
			path := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// The example of doc.go.
func TestSelfAndTotalAreAsTheExampleSays(t *testing.T) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	locations := map[string]*profile.Location{}
	for i, name := range []string{"main", "serve", "parse", "flush"} {
		f := &profile.Function{ID: uint64(i + 1), Name: name}
		p.Function = append(p.Function, f)
		locations[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		p.Location = append(p.Location, locations[name])
	}
	for leaf, value := range map[string]int64{"parse": 3, "flush": 2} {
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{value},
			Location: []*profile.Location{locations[leaf], locations["serve"], locations["main"]}})
	}
	var got struct {
		Functions []struct {
			Name        string
			Self, Total map[string]int64
		}
	}
	table := func(w io.Writer, p *profile.Profile, o Options) error { return JSON(w, p, false, o) }
	if err := json.Unmarshal([]byte(render(t, table, p, Options{})), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{"main": {0, 5}, "serve": {0, 5}, "parse": {3, 3}, "flush": {2, 2}}
	for _, f := range got.Functions {
		if w := want[f.Name]; f.Self["cpu"] != w[0] || f.Total["cpu"] != w[1] {
			t.Errorf("%s: self %v, total %v, want %v", f.Name, f.Self, f.Total, w)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("no rows for %v", want)
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	p := fixture(t)
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Value: "alloc_space"}, "it has samples, wall, runqueue, cpu"},
		{Options{By: "colour"}, "choose one of thread"},
		{Options{Focus: "("}, "--focus"},
		{Options{Ignore: "["}, "--ignore"},
		{Options{Focus: "no such function"}, `no samples left by --focus "no such function"; leave that out to see all`},
		{Options{Focus: "no such function", State: "running"}, `by --state "running" and --focus "no such function"`},
	} {
		for _, f := range []form{Table, Tree, Folded, HTML, Speedscope} {
			if err := f(io.Discard, p, c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c.opts, err, c.want)
			}
		}
	}
	if len(p.Sample) != len(fixtureStacks()) {
		t.Error("a report changed the profile")
	}
}

func TestEveryFormTakesForeignAndOddProfiles(t *testing.T) {
	var heap bytes.Buffer
	pprof.Lookup("heap").WriteTo(&heap, 0)
	p, err := rec.Read(&heap)
	if err != nil {
		t.Fatal(err)
	}
	odd := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "x", Unit: "bytes"}},
		Location:   []*profile.Location{{ID: 1, Address: 5}},
	}
	odd.Sample = []*profile.Sample{{Value: []int64{7}}, {Value: []int64{-3}, Location: odd.Location}}
	empty := &profile.Profile{SampleType: odd.SampleType}
	for _, p := range []*profile.Profile{p, odd, empty} {
		for _, f := range []form{Table, Tree, Folded, HTML, Speedscope, Firefox} {
			for _, o := range []Options{{}, {Lines: true, By: "thread"}} {
				render(t, f, p, o)
			}
		}
	}
}

func TestPageIsSelfContainedAndEscapesNames(t *testing.T) {
	page := render(t, HTML, fixture(t), Options{})
	for _, bad := range []string{"http://", "https://", "src=", "@import", "<link", "evil</script"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d script elements end in the page, want 2", n)
	}
	if !strings.Contains(page, "default-src 'none'") {
		t.Error("the page may use the network")
	}
	d := pageData(t, page)
	if !strings.Contains(strings.Join(d.Strings, "\n"), `evil</script><b onclick="x">&;name`) {
		t.Error("the hostile name did not arrive whole")
	}
	if got := rowSum(d, 3); got != 1000e6 {
		t.Errorf("cpu in the page: %d", got)
	}
}

func pageData(t testing.TB, html string) (d page) {
	_, rest, _ := strings.Cut(html, `id="data">`)
	raw, _, _ := strings.Cut(rest, "</script>")
	if err := json.Unmarshal([]byte(raw), &d); err != nil {
		t.Fatal(err)
	}
	if d.Times != nil {
		for _, i := range intervalsOf(t, &d) {
			view.Add(d.Rows[int(i.row)*(2+len(d.Types))+2:], i.values)
		}
	}
	return d
}

func rowSum(d page, value int) (n int64) {
	for i := 2 + value; i < len(d.Rows); i += 2 + len(d.Types) {
		n += d.Rows[i]
	}
	return n
}

func TestLargePageIsPrunedWithoutLosingTime(t *testing.T) {
	p := large(t, 20_000, 3000)
	html := render(t, HTML, p, Options{})
	d := pageData(t, html)
	if !strings.Contains(d.Note, "merged into one box") {
		t.Errorf("note %q", d.Note)
	}
	if got := rowSum(d, 3); got != 20_000*1e7 {
		t.Errorf("cpu in the page: %d", got)
	}
	if len(html) > 4<<20 {
		t.Errorf("the page has %d bytes", len(html))
	}
}

func TestFirefoxTablesAreConsistent(t *testing.T) {
	var f struct {
		Threads []struct {
			Name        string
			StringArray []string
			Samples     struct {
				Length         int
				Stack          []int
				Time, Weight   []float64
				ThreadCPUDelta []int64
			}
			StackTable struct {
				Prefix []*int
				Frame  []int
			}
			FrameTable    struct{ Func []int }
			FuncTable     struct{ Name, Resource []int }
			ResourceTable struct{ Name []int }
		}
	}
	if err := json.Unmarshal([]byte(render(t, Firefox, fixture(t), Options{Value: "wall"})), &f); err != nil {
		t.Fatal(err)
	}
	var weight float64
	var cpu int64
	for _, th := range f.Threads {
		for i, st := range th.Samples.Stack {
			weight += th.Samples.Weight[i]
			cpu += th.Samples.ThreadCPUDelta[i]
			if i > 0 && th.Samples.Time[i] < th.Samples.Time[i-1] {
				t.Errorf("%s: time goes back", th.Name)
			}
			for at := &st; at != nil; at = th.StackTable.Prefix[*at] {
				fn := th.FrameTable.Func[th.StackTable.Frame[*at]]
				_ = th.StringArray[th.FuncTable.Name[fn]]
				if r := th.FuncTable.Resource[fn]; r >= 0 {
					_ = th.StringArray[th.ResourceTable.Name[r]]
				}
			}
		}
	}
	if weight != 2205 || cpu != 1e6 {
		t.Errorf("wall %g ms, cpu %d µs", weight, cpu)
	}
}

func TestNamesCannotControlTheTerminal(t *testing.T) {
	if got := tabular.Printables([]string{"a\x1b[2Jb\nc\u202ed\xff"})[0]; got != `a\x1b[2Jb\nc\u202ed\xff` {
		t.Errorf("got %q", got)
	}
}

func TestFormatsHaveThreeDigits(t *testing.T) {
	for _, c := range []struct {
		v    int64
		unit string
		want string
	}{
		{0, "nanoseconds", "0s"}, {999, "nanoseconds", "999ns"}, {1234567, "nanoseconds", "1.23ms"},
		{45_600_000, "nanoseconds", "45.6ms"},
		{999_999_999, "nanoseconds", "1.00s"}, {119e9, "nanoseconds", "119s"}, {600e9, "nanoseconds", "10.0min"},
		{7200e9, "nanoseconds", "2.00h"},
		{5, "seconds", "5.00s"}, {1234567, "count", "1,234,567"}, {-1234, "count", "-1,234"}, {1536, "bytes", "1.50KiB"},
		{3, "widgets", "3 widgets"},
	} {
		if got := tabular.Format(c.v, c.unit); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.v, c.unit, got, c.want)
		}
	}
}

func BenchmarkHTML20kStacks(b *testing.B) {
	p := large(b, 20_000, 200)
	b.ReportAllocs()
	for b.Loop() {
		render(b, HTML, p, Options{})
	}
}

func TestThreadsThatExitedUnseenAreAGroupOfTheirOwn(t *testing.T) {
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7})
	unseen := b.Intern([]rec.Loc{{Synthetic: "[exited unseen]"}})
	b.Add(rec.Interval{Stack: unseen, PID: 100, Comm: "kvd", Thread: "[exited]", State: "running", End: 2e9, Wall: 3e9,
		CPU: 3e9})
	b.Add(rec.Interval{Stack: b.Intern([]rec.Loc{{Synthetic: "[not observed]"}}), PID: 100, TID: 100, Comm: "kvd",
		Thread: "kvd",
		State:  "running", End: 1e9, Wall: 1e9, CPU: 1e9})
	p := parsed(t, b, nil)
	if n := len(p.Sample[0].NumLabel["tid"]); n != 0 {
		t.Errorf("%d numbers of a thread", n)
	}
	table := render(t, Table, p, Options{By: "thread"})
	for _, want := range []string{"[exited] kvd (pid 100)", "kvd (tid 100)", "1 thread"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	for _, f := range []form{HTML, Speedscope, Firefox} {
		if text := render(t, f, p, Options{}); !strings.Contains(text, "[exited]") {
			t.Errorf("no [exited] in %.300s", text)
		}
	}
}

func TestThreadsOfSeveralProcessesSayWhoseTheyAre(t *testing.T) {
	for name, c := range map[string]struct {
		pids []int
		want []string
	}{
		"several": {[]int{100, 200}, []string{"MainThread (tid 100)  ", "Thread-1 (tid 101) of pid 100  ",
			"MainThread (tid 200)  ", "Thread-1 (tid 201) of pid 200  "}},
		"one": {[]int{100}, []string{"MainThread (tid 100)  ", "Thread-1 (tid 101)  "}},
	} {
		b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7})
		stack := b.Intern([]rec.Loc{{Synthetic: "[not observed]"}})
		for _, pid := range c.pids {
			for i, thread := range []string{"MainThread", "Thread-1"} {
				b.Add(rec.Interval{Stack: stack, PID: pid, TID: pid + i, Comm: "python3", Thread: thread, State: "running",
					End: 1e9, Wall: 1e9, CPU: 1e9})
			}
		}
		table := render(t, Table, parsed(t, b, nil), Options{By: "thread"})
		for _, want := range c.want {
			if !strings.Contains(table, want) {
				t.Errorf("%s: no %q in\n%s", name, want, table)
			}
		}
		// --thread matches the names that --by thread shows
		_, err := Filter(parsed(t, b, nil), Options{Thread: "of pid 100"})
		if several := len(c.pids) > 1; (err == nil) != several {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAReportOfThreadsThatWaitedSaysWhereToLook(t *testing.T) {
	idle := fixture(t)
	for _, s := range idle.Sample {
		s.Value[len(s.Value)-1] = 0
	}
	for _, c := range []struct {
		what string
		p    *profile.Profile
		o    Options
		told bool
	}{
		{"some ran", fixture(t), Options{}, false},
		{"nobody ran", idle, Options{}, true},
		{"wall time is shown of sleepers", idle, Options{State: "sleeping"}, false},
		{"CPU time was asked for", idle, Options{Value: "cpu"}, false},
		{"the waits are shown", idle, Options{By: "wait"}, false},
	} {
		for name, form := range map[string]form{"table": Table, "tree": Tree} {
			if got := render(t, form, c.p, c.o); strings.Contains(got, "--by wait shows") != c.told {
				t.Errorf("%s, %s:\n%s", name, c.what, got)
			}
		}
	}
}
