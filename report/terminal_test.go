// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// Addresses without an entry have no name.
var longNames = map[uint64]string{
	1: "int db::Engine<db::Row, std::less<db::Key> >::step(db::Context&, std::vector<db::Row> const&) const",
	2: "boolean java.util.concurrent.ThreadPoolExecutor.addWorker(java.lang.Runnable, boolean)",
	3: "void jdk.internal.net.http.Http2Connection.processFrame(jdk.internal.net.http.frame.Http2Frame)",
	4: "std::unordered_map<std::string, std::shared_ptr<db::Table> >::operator[](std::string const&)",
	5: "main", 6: "serve_one_request_with_a_name_that_nobody_would_like_to_type",
	7: "__futex_abstimed_wait_common64", 8: "pthread_mutex_lock", 9: "std::mutex::lock()", 10: "update_cache",
	11: "start_thread", 12: "clone3",
}

type longTable struct{}

func (longTable) Resolve(_ *rec.ModuleInfo, addr uint64) []rec.Frame {
	if name := longNames[addr&0xfff]; name != "" {
		return []rec.Frame{{Name: name, File: "/src/engine.cc", Line: int(addr & 0xfff), StartLine: 1}}
	}
	if addr&0xfff > 0x100 { // a deep recursion
		return []rec.Frame{{Name: fmt.Sprintf("visit_%d", addr&0xfff), File: "/src/tree.cc", Line: 7, StartLine: 1}}
	}
	return nil
}

func wideFixture(tb testing.TB) *profile.Profile {
	exe := &rec.ModuleInfo{Start: 0x400000, End: 0x500000, Path: "/usr/bin/dbserver", BuildID: "aa"}
	lib := &rec.ModuleInfo{Start: 0x7f0000000000, End: 0x7f0000200000, Path: "/usr/lib/libc.so.6", BuildID: "bb"}
	jvm := &rec.ModuleInfo{Start: 0x7f1000000000, End: 0x7f1000200000, Path: "/usr/lib/jvm/lib/server/libjvm.so",
		BuildID: "cc"}
	jit := &rec.ModuleInfo{Start: 0x7f2000000000, End: 0x7f2000200000, Path: "[anon]"}
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 10 * time.Millisecond, Main: exe})
	deep := at(exe, 1)
	for i := range uint64(40) {
		deep = append(deep, at(exe, 0x101+i)...)
	}
	threads := join(at(exe, 5), at(lib, 11, 12))
	for i, s := range []struct {
		stack       []rec.Loc
		state, wait string
		samples     int64
		wall, cpu   int64
	}{
		{join(at(exe, 1, 6), threads), "running", "", 300, 3000, 3000},
		{join(deep, threads), "running", "", 40, 400, 400},
		{join(at(exe, 4, 3, 2), threads), "running", "", 20, 200, 200},
		{join(at(jit, 0x30), at(jvm, 0x40), threads), "running", "", 500, 5000, 5000},
		{join(at(jvm, 0x44), threads), "running", "", 80, 800, 800},
		{[]rec.Loc{{Synthetic: "[exited unseen]"}}, "running", "", 0, 0, 600},
		{join(at(lib, 7, 8), at(exe, 9, 10, 6), threads), "sleeping", "futex", 4000, 40_000, 0},
	} {
		b.Add(rec.Interval{Stack: b.Intern(s.stack), PID: 4711, TID: 4712, Comm: "dbserver", Thread: "worker-with-name",
			State: s.state, Wait: s.wait,
			End: 1_700_000_000e9 + int64(i+1)*1e9, Samples: s.samples, Wall: s.wall * 1e6, CPU: s.cpu * 1e6})
	}
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_010, 0))
	b.Update(func(m *rec.Meta) {
		m.Comments = []string{"prywalk: overhead: stops ≤ 299 µs (p99 131 µs), prywalk used 0.13 s CPU, " +
			"slowest thread sampled at 98.9/s | 298 ticks (0 missed, 98.8/s), " +
			"2859 attempted = 1353 stopped + 870 read passively"}
	})
	return parsed(tb, b, longTable{})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
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
}

var terminalForms = map[string]func(io.Writer, *profile.Profile, Options) error{
	"table": Table,
	"tree":  Tree,
	"wait": func(w io.Writer, p *profile.Profile, o Options) error {
		o.By = "wait"
		return Table(w, p, o)
	},
	"callers": func(w io.Writer, p *profile.Profile, o Options) error { return Callers(w, p, "main", o) },
	"callees": func(w io.Writer, p *profile.Profile, o Options) error { return Callees(w, p, "main", o) },
	"lines": func(w io.Writer, p *profile.Profile, o Options) error {
		o.Lines = true
		return Table(w, p, o)
	},
	"source":  func(w io.Writer, p *profile.Profile, o Options) error { return Source(w, p, "step|serve", o) },
	"account": Account,
}

func TestFormsFitTheTerminal(t *testing.T) {
	for name, form := range terminalForms {
		for _, width := range []int{60, 80, 120, 200} {
			t.Run(fmt.Sprintf("%s_%d", name, width), func(t *testing.T) {
				got := render(t, form, wideFixture(t), Options{Width: width})
				for line := range strings.Lines(got) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
						t.Errorf("%d columns: %s", n, line)
					}
				}
				golden(t, fmt.Sprintf("wide_%s_%d", name, width), got)
			})
		}
	}
}

func TestLinesEndBeforeTheTerminalDoes(t *testing.T) {
	for width := 8; width < 40; width++ {
		text := string(tabular.Wrap(width, " · ", "abcdef", "ghi", "jklmno", "p", "qrstu"))
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %q", n, width, text)
			}
		}
		if strings.ReplaceAll(text, " ·\n", " · ") != "abcdef · ghi · jklmno · p · qrstu" {
			t.Errorf("%d: %q", width, text)
		}
	}
	if got := tabular.Wrap(0, " · ", "a", "b\n"); got != `a · b\n` {
		t.Errorf("got %q", got)
	}
}

// Paragraphs are not wrapped there.
func TestTablesInAPipeAreNarrow(t *testing.T) {
	for _, name := range []string{"table", "tree", "lines", "callers", "callees"} {
		got := render(t, terminalForms[name], wideFixture(t), Options{})
		_, table, _ := strings.Cut(got, "\n\n")
		table, _, _ = strings.Cut(table, "\n\n")
		for line := range strings.Lines(table) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		if name != "callers" && !strings.Contains(table, "step(") {
			t.Errorf("%s: a method's name was cut:\n%s", name, table)
		}
	}
}

func TestFullNamesAreNotCut(t *testing.T) {
	for name, form := range terminalForms {
		got := render(t, form, wideFixture(t), Options{FullNames: true})
		if name != "account" && name != "wait" && name != "source" && name != "callers" &&
			!strings.Contains(got, longNames[1]) {
			t.Errorf("%s: a name was cut:\n%s", name, got)
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s has colours", name)
		}
	}
}

// 3.6 of 10 s of CPU time have a function.
func TestTheHeadTellsWhatHasNoFunction(t *testing.T) {
	got := render(t, Table, wideFixture(t), Options{})
	head, _, _ := strings.Cut(got, "\n\n")
	if !strings.Contains(head, " · 36.0% named") {
		t.Errorf("the head: %s", head)
	}
	for _, want := range []string{
		"[libjvm.so] (unnamed)", "jcmd 4711 Compiler.perfmap", "-dbgsym",
	} {
		if strings.Count(got, want) == 0 {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "jcmd"); n != 1 {
		t.Errorf("what gives names is said %d times", n)
	}
	whole := render(t, Table, fixture(t), Options{Ignore: "libblob"})
	if strings.Contains(whole, "Time without a function:") ||
		!strings.Contains(whole, " · 99.4% named") {
		t.Errorf("there is nothing to say:\n%s", whole)
	}
}

func TestFunctionsThatWereFreedAreExplained(t *testing.T) {
	p := wideFixture(t)
	if got := render(t, Table, p, Options{}); strings.Contains(got, "function gone") {
		t.Errorf("nothing was freed:\n%s", got)
	}
	for _, f := range p.Function {
		if f.Name == longNames[1] {
			f.Name, f.SystemName = "[freed]", "[freed]"
		}
	}
	got := render(t, Account, p, Options{})
	const note = "[function gone before its name was read]: functions whose names prywalk could not prove"
	if n := strings.Count(got, note); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, got)
	}
}

func TestFilesWithoutNamesHaveTheRemedyOfTheirKind(t *testing.T) {
	p := wideFixture(t)
	for _, m := range p.Mapping {
		if strings.HasSuffix(m.File, "/libjvm.so") {
			m.File = "/home/a/venv/lib/python3.11/site-packages/pandas/_libs/algos.so"
		}
	}
	got := render(t, Account, p, Options{})
	if !strings.Contains(got, "[algos.so] (unnamed)") || !strings.Contains(got, "pip install --no-binary") ||
		strings.Contains(got, "-dbgsym") {
		t.Errorf("%s", got)
	}
}

func TestWaitsShowTheProgramsFunctionFirst(t *testing.T) {
	got := render(t, Table, wideFixture(t), Options{By: "wait"})
	_, futex, _ := strings.Cut(got, "futex (1 thread)  (cpu")
	lines := strings.Split(futex, "\n")
	if len(lines) < 5 || !strings.Contains(lines[3], "update_cache") ||
		strings.Contains(lines[4], "__futex_abstimed_wait_common64") {
		t.Errorf("got:\n%s", got)
	}
	if !strings.Contains(got, "(wall)") {
		t.Error("the values of waits are wall time")
	}
}

func TestStacksOfWaitsHaveTheWidthOfTables(t *testing.T) {
	const name = "dbserver::engine::update_"
	long := strings.Repeat("dbserver::engine::", 8) + "update"
	p := wideFixture(t)
	for _, f := range p.Function {
		if strings.HasPrefix(f.Name, name) || strings.Contains(f.Name, "update_cache") {
			f.Name = long
		}
	}
	for _, c := range []struct {
		o     Options
		whole bool
	}{{Options{}, false}, {Options{Width: 80}, false}, {Options{FullNames: true}, true},
		{Options{Width: 80, FullNames: true}, true}} {
		c.o.By = "wait"
		_, futex, _ := strings.Cut(render(t, Table, p, c.o), "futex (1 thread)")
		if strings.Contains(futex, long) != c.whole || !strings.Contains(futex, "update") {
			t.Errorf("%+v: whole %v is wanted:\n%s", c.o, c.whole, futex)
		}
	}
}

func TestBlockedIsWhatWallHasBeyondTheOthers(t *testing.T) {
	p := fixture(t)
	got := render(t, Table, p, Options{Value: "blocked"})
	if !strings.Contains(got, "blocked 1.17s") || !strings.Contains(got, "epoll_wait") || len(p.SampleType) != 4 {
		t.Errorf("got:\n%s", got)
	}
	if err := Table(io.Discard, foreign(), Options{Value: "blocked"}); err == nil {
		t.Error("another tool's profile has no such clock")
	}
}

func foreign() *profile.Profile {
	f := &profile.Function{ID: 1, Name: "f"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Function: []*profile.Function{f},
		Location: []*profile.Location{l}, Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{5}}},
	}
}

func TestDigitsAreThoseThatTheSamplesBear(t *testing.T) {
	for _, c := range []struct {
		n           float64
		v           int64
		share, time string
	}{
		{0, 333e6, "33.30%", "333ms"},
		{4, 500e6, "50%", "500ms"},
		{9, 333e6, "33%", "300ms"},
		{100, 333e6, "33%", "330ms"},
		{1000, 333e6, "33%", "330ms"},
		{1000, 3e6, "0.3%", "3ms"},
		{100_000, 333e6, "33.3%", "333ms"},
		{10_000_000, 333_333_333, "33.33%", "333ms"},
		{100, 1000e6, "100%", "1.00s"},
		{100, 0, "0%", "0s"},
		{10, 4e6, "0%", "4ms"},
	} {
		p := tabular.Precision{N: c.n, Total: 1e9}
		if share, time := p.Share(c.v), p.Value(c.v, "nanoseconds"); share != c.share || time != c.time {
			t.Errorf("%v of %v samples: %s, %s, want %s, %s", time, c.n, share, time, c.share, c.time)
		}
	}
}

func TestPartsOfTheTimeAddUp(t *testing.T) {
	p := wideFixture(t)
	var sum, whole int64
	for _, s := range p.Sample {
		whole += s.Value[1]
	}
	for _, o := range []Options{{To: 3500 * time.Millisecond}, {From: 3500 * time.Millisecond, To: 5 * time.Second},
		{From: 5 * time.Second}} {
		q, err := Filter(p, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range q.Sample {
			sum += s.Value[1]
		}
		if want := o.To; want > 0 && q.DurationNanos != int64(want-o.From) {
			t.Errorf("%v: the part has %d ns", o, q.DurationNanos)
		}
	}
	// Of intervals that began before the recording, that part is in none.
	var before int64
	for _, s := range p.Sample {
		before += max(0, p.TimeNanos-(view.NumLabel(s, rec.LabelEnd)-s.Value[1]))
	}
	if sum != whole-before {
		t.Errorf("the parts have %d ns, the whole %d", sum, whole-before)
	}
	if _, err := Filter(foreign(), Options{From: time.Second}); err == nil ||
		!strings.Contains(err.Error(), "has no time stamps") {
		t.Errorf("a profile without time: %v", err)
	}
	if _, err := Filter(p, Options{From: time.Minute}); err == nil || !strings.Contains(err.Error(), "no samples left") {
		t.Errorf("behind the end: %v", err)
	}
}

func TestFiltersKeepWhatMatches(t *testing.T) {
	p := fixture(t)
	for _, c := range []struct {
		opts    Options
		samples int
	}{
		{Options{Thread: "worker-1"}, 2}, {Options{Thread: "101"}, 2}, {Options{Process: "^kvd"}, len(p.Sample)},
		{Options{Process: "pid 100"}, len(p.Sample)},
		{Options{State: "sleeping"}, 2}, {Options{Wait: "futex"}, 1}, {Options{Thread: "worker", State: "running"}, 5},
	} {
		q, err := Filter(p, c.opts)
		if err != nil || len(q.Sample) != c.samples {
			t.Errorf("%+v: %d samples, %v", c.opts, len(q.Sample), err)
		}
	}
	if _, err := Filter(p, Options{Thread: "nobody"}); err == nil || !strings.Contains(err.Error(), "--thread") {
		t.Errorf("nothing left: %v", err)
	}
	if _, err := Filter(p, Options{Wait: "("}); err == nil || !strings.Contains(err.Error(), "--wait") {
		t.Errorf("no expression: %v", err)
	}
}

func TestCallersAndCalleesOfARecursion(t *testing.T) {
	for _, form := range []func(io.Writer, *profile.Profile, string, Options) error{Callers, Callees} {
		var b strings.Builder
		if err := form(&b, fixture(t), "walk", Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "16% 170ms    2%  all of walk") {
			t.Errorf("got:\n%s", &b)
		}
		if err := form(io.Discard, fixture(t), "no_such", Options{}); err == nil {
			t.Error("a function that is not there")
		}
	}
	got := &strings.Builder{}
	if err := Callers(got, fixture(t), "compress", Options{}); err != nil ||
		!strings.Contains(got.String(), "└ compress") ||
		strings.Index(got.String(), "worker") > strings.Index(got.String(), "clone3") {
		t.Errorf("callers, the nearest first: %v\n%s", err, got)
	}
}

type jsonNode struct {
	jsonFunction
	Children []*jsonNode `json:"children"`
}

func TestJSONHasAllClocks(t *testing.T) {
	var b strings.Builder
	if err := JSON(&b, fixture(t), true, Options{By: "thread"}); err != nil {
		t.Fatal(err)
	}
	type table struct {
		jsonGroup
		Functions []jsonFunction `json:"functions"`
	}
	var r struct {
		jsonReport
		Functions []jsonFunction `json:"functions"`
		Groups    []table        `json:"groups"`
		Tree      *jsonNode      `json:"tree"`
	}
	if err := json.Unmarshal([]byte(b.String()), &r); err != nil {
		t.Fatal(err)
	}
	if r.Total["cpu"] != 1000e6 || r.Total["blocked"] != 1170e6 || r.Total["samples"] != 217 || r.Value != "cpu" {
		t.Errorf("total %v", r.Total)
	}
	if f := r.Functions[0]; f.Name != "compress" || f.Module != "kvd" || f.Self["cpu"] != 500e6 ||
		f.Total["wall"] != 520e6 {
		t.Errorf("first function %+v", f)
	}
	var self int64
	for _, f := range r.Functions {
		self += f.Self["wall"]
	}
	if self != r.Total["wall"] {
		t.Errorf("functions have %d ns of their own, all %d", self, r.Total["wall"])
	}
	var groups, roots int64
	for _, g := range r.Groups {
		groups += g.Total["cpu"]
	}
	for _, c := range r.Tree.Children {
		roots += c.Total["cpu"]
	}
	if groups != r.Total["cpu"] || roots != r.Total["cpu"] || r.Tree.Total["cpu"] != roots {
		t.Errorf("cpu of groups %d, of the tree %d", groups, roots)
	}
	b.Reset()
	if err := JSON(&b, foreign(), false, Options{}); err != nil || strings.Contains(b.String(), "blocked") ||
		strings.Contains(b.String(), `"tree"`) {
		t.Errorf("%v %s", err, &b)
	}
}

func TestATreeInJSONHasAsManyCallsAsAskedFor(t *testing.T) {
	type cut struct {
		Functions int
		Share     float64
	}
	tree := func(n int) (root *jsonNode, left cut) {
		var b strings.Builder
		if err := JSON(&b, fixture(t), true, Options{N: n}); err != nil {
			t.Fatal(err)
		}
		var r struct {
			Tree *jsonNode `json:"tree"`
			Cut  cut       `json:"tree_cut"`
		}
		if err := json.Unmarshal([]byte(b.String()), &r); err != nil {
			t.Fatal(err)
		}
		return r.Tree, r.Cut
	}
	var walk func(n *jsonNode, least *int64) (nodes int, self int64)
	walk = func(n *jsonNode, least *int64) (nodes int, self int64) {
		self, *least = n.Self["cpu"], min(*least, n.Total["cpu"])
		for i := range n.Children {
			k, s := walk(n.Children[i], least)
			nodes, self = nodes+k, self+s
		}
		return nodes + 1, self
	}
	least := int64(1 << 62)
	whole, none := tree(0)
	all, used := walk(whole, &least)
	if none.Functions != 0 || all < 10 {
		t.Fatalf("%d calls, %+v cut", all, none)
	}
	const n = 6
	some, left := tree(n)
	least = 1 << 62
	nodes, self := walk(some, &least)
	if nodes-1 != n || left.Functions != all-1-n || math.Abs(left.Share-float64(used-self)/float64(used)) > 1e-9 {
		t.Errorf("%d calls of %d, %d of %d ns of their own: %+v cut", nodes-1, all-1, self, used, left)
	}
	if path := differs(some, whole); path != "" {
		t.Errorf("values of%s differ from those in the whole tree", path)
	}
	if least < used/20 {
		t.Errorf("a call with %d ns of %d is shown", least, used)
	}
}

// differs returns the path to a node whose values are others in the whole tree.
func differs(n, whole *jsonNode) string {
	if n.Name != whole.Name || !maps.Equal(n.Self, whole.Self) || !maps.Equal(n.Total, whole.Total) {
		return " " + n.Name
	}
	for _, c := range n.Children {
		i := slices.IndexFunc(whole.Children, func(w *jsonNode) bool { return w.Name == c.Name && w.Module == c.Module })
		if i < 0 {
			return " " + n.Name + " " + c.Name
		}
		if path := differs(c, whole.Children[i]); path != "" {
			return " " + n.Name + path
		}
	}
	return ""
}

// subtracted is a difference: main has a + b.
func subtracted(a, b int64) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	for i, name := range []string{"main", "a", "b"} {
		f := &profile.Function{ID: uint64(i) + 1, Name: name}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}})
	}
	for i, v := range []int64{a, b} {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{p.Location[i+1], p.Location[0]},
			Value: []int64{v}})
	}
	return p
}

func TestATreeShowsLargeNegativeBranches(t *testing.T) {
	for _, c := range []struct {
		a, b   int64
		absent string // smaller than 1 % of the whole
	}{
		{10e9, -8e9, ""}, {10e9, -9.99e9, ""}, {8e9, -10e9, ""}, {-10e9, -8e9, ""}, {10e9, -5e7, "b"}, {5e7, -10e9, "a"},
	} {
		var text strings.Builder
		if err := Tree(&text, subtracted(c.a, c.b), Options{}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			shown := regexp.MustCompile(`(?m)[├└] ` + name + `$`).MatchString(text.String())
			if shown != (name != c.absent) {
				t.Errorf("%+v: %s is shown: %v\n%s", c, name, shown, &text)
			}
		}
	}
}

func TestATreeInJSONWithNegativeValuesIsWhole(t *testing.T) {
	p := subtracted(10, -8)
	for n, want := range map[int]string{1: "", 2: "main a", 3: "main a b"} {
		var b strings.Builder
		if err := JSON(&b, p, true, Options{N: n}); err != nil {
			t.Fatal(err)
		}
		var r struct {
			Tree *jsonNode `json:"tree"`
			Cut  struct {
				Functions int
				Share     float64
			} `json:"tree_cut"`
		}
		if err := json.Unmarshal([]byte(b.String()), &r); err != nil {
			t.Fatal(err)
		}
		var names []string
		var self int64
		var walk func(nodes []*jsonNode)
		walk = func(nodes []*jsonNode) {
			for _, k := range nodes {
				names, self = append(names, k.Name), self+k.Self["cpu"]
				walk(k.Children)
			}
		}
		walk(r.Tree.Children)
		if got := strings.Join(names, " "); got != want || r.Cut.Functions != 3-len(names) ||
			math.Abs(r.Cut.Share-float64(2-self)/2) > 1e-9 {
			t.Errorf("-n %d: %q with %d of 2 ns, want %q; cut %+v", n, got, self, want, r.Cut)
		}
	}
}

func TestSourceLinesOfAnyNumberAreInOrder(t *testing.T) {
	f := &profile.Function{ID: 1, Name: "f", Filename: "f.c"}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		Function: []*profile.Function{f}}
	numbers := []int64{math.MinInt64, -3, 7, math.MaxInt64}
	for i, n := range numbers {
		l := &profile.Location{ID: uint64(i) + 1, Line: []profile.Line{{Function: f, Line: n}}}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
	}
	for range 20 { // the lines are in a map
		var b strings.Builder
		if err := Source(&b, p, "f", Options{}); err != nil {
			t.Fatal(err)
		}
		last := -1
		for _, n := range numbers {
			at := strings.Index(b.String(), fmt.Sprintf("%6d\n", n))
			if at <= last {
				t.Fatalf("line %d is not after those before: %s", n, &b)
			}
			last = at
		}
	}
}

func TestSourceShowsTheTextBelowTheDirectoryOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pack.c"), []byte(strings.Repeat("\n", 42)+"\tsqueeze(it);\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		text bool
	}{{dir, true}, {"", false}, {t.TempDir(), false}} {
		var b strings.Builder
		if err := Source(&b, fixture(t), "^compress$", Options{SourceDir: c.dir}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "    43") || strings.Contains(b.String(), "squeeze") != c.text {
			t.Errorf("with %q:\n%s", c.dir, &b)
		}
	}
	if err := Source(io.Discard, fixture(t), "epoll_wait", Options{}); err == nil {
		t.Error("a function without lines")
	}
	if err := os.Truncate(filepath.Join(dir, "pack.c"), 1<<30); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	err := Source(&b, fixture(t), "^compress$", Options{SourceDir: dir})
	if err != nil || !strings.Contains(b.String(), "too large") {
		t.Errorf("a large file, %v:\n%s", err, &b)
	}
}

func TestTheAccountIsShownWholeWhenAskedFor(t *testing.T) {
	p := wideFixture(t)
	if got := render(t, Table, p, Options{}); strings.Contains(got, "298 ticks") ||
		strings.Contains(got, "0.13 s CPU") {
		t.Errorf("the head of a report:\n%s", got)
	}
	if got := render(t, Account, p, Options{}); !strings.Contains(got, "298 ticks") ||
		!strings.Contains(got, "0.13 s CPU") {
		t.Errorf("the account:\n%s", got)
	}
}

// Lines have ASCII, drawn lines and Han characters (East Asian Width, UAX 11).
func cells(line string) (n int) {
	for _, r := range strings.TrimRight(line, "\n") {
		if n++; unicode.Is(unicode.Han, r) {
			n++
		}
	}
	return n
}

func TestWideNamesStandInTheirColumns(t *testing.T) {
	p := wideFixture(t)
	for i, f := range p.Function {
		f.Name = strings.Repeat("計算", 1+i%20) + f.Name
		f.SystemName = f.Name
	}
	for name, form := range terminalForms {
		if name == "callers" || name == "callees" {
			continue
		}
		for _, width := range []int{60, 80, 120} {
			for line := range strings.Lines(render(t, form, p, Options{Width: width})) {
				if n := cells(line); n > width {
					t.Errorf("%s: %d cells of %d: %s", name, n, width, line)
				}
			}
		}
	}
	table, column := render(t, Table, p, Options{Width: 80}), 0
	for line := range strings.Lines(table) {
		at := strings.Index(line, "  dbserver\n")
		if at < 0 || !strings.Contains(line, "計") {
			continue
		}
		n := cells(line[:at])
		if column == 0 {
			column = n
		}
		if n != column {
			t.Errorf("the module begins in column %d, where others begin in %d: %s", n, column, line)
		}
	}
	if column == 0 {
		t.Errorf("no row with a module:\n%s", table)
	}
}
