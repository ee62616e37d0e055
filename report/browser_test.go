// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

const patience = 5 * time.Minute

func browser(t *testing.T, p *profile.Profile) context.Context {
	t.Helper()
	return openPage(t, func(b *bytes.Buffer) error { return HTML(b, p, Options{}) })
}

func openPage(t *testing.T, write func(*bytes.Buffer) error) context.Context {
	t.Helper()
	bin := testtargets.NeedProgram(t, "chromium")
	path := filepath.Join(t.TempDir(), "page.html")
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(bin), chromedp.NoSandbox,
		chromedp.WindowSize(1400, 900),
		chromedp.WSURLReadTimeout(patience))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	err := chromedp.Listen(ctx, func(e any) {
		if e, ok := e.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the page's script failed: %+v", e.ExceptionDetails)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop = context.WithTimeout(ctx, patience)
	t.Cleanup(stop)
	run(ctx, t, chromedp.Navigate("file://"+path))
	return ctx
}

func run(ctx context.Context, t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

func text(ctx context.Context, t *testing.T, selector string) string {
	t.Helper()
	s, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(s), " ")
}

func value[T any](ctx context.Context, t *testing.T, expr string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expr))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wants(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: %q lacks %q", what, got, want)
	}
}

func TestPageInABrowser(t *testing.T) {
	ctx := browser(t, fixture(t))
	wants(t, "head", text(ctx, t, "header"), "kvd (pid 100)")
	wants(t, "first function", text(ctx, t, "#functions tbody tr"), "50% 500 ms 50% 500 ms compress kvd")
	wants(t, "hostile name", text(ctx, t, "#functions tbody"), `evil</script><b onclick="x">&;name`)
	run(ctx, t, chromedp.Click(chromedp.CSS("#view-tracks")))
	wants(t, "threads", text(ctx, t, "#tlist"), "worker-1 (101)")
	run(ctx, t, chromedp.Click(chromedp.CSS("#view-flame")))

	run(ctx, t, chromedp.KeyEvent("/"))
	if id := value[string](ctx, t, "document.activeElement.id"); id != "search" {
		t.Errorf("%q has the focus after /", id)
	}
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`byId("search").value = ""`), chromedp.KeyEvent("walk|serve"))
	wants(t, "found", text(ctx, t, "#found"), "46% (470 ms)")
	run(ctx, t, chromedp.KeyEvent("\x1b"))
	if s := value[string](ctx, t, "choice.search"); s != "" {
		t.Errorf("search is %q after Esc", s)
	}

	run(ctx, t, chromedp.MouseClickXY(100, value[float64](ctx, t,
		"graph.canvas.getBoundingClientRect().top + 2.5 * rowHeight")))
	wants(t, "zoom", text(ctx, t, "#crumbs"), "⤒ allclone3worker")
	run(ctx, t, chromedp.KeyEvent("\x1b"))
	wants(t, "zoomed out", text(ctx, t, "#crumbs"), "all stacks")

	run(ctx, t, chromedp.Click("//button[text()='wall']"), chromedp.Click("//button[text()='sleeping']"))
	wants(t, "sleepers", text(ctx, t, "#functions tbody tr"), "59% 690 ms 59% 690 ms epoll_wait")
	run(ctx, t, chromedp.Click("//button[text()='callers']"))
	if s := value[string](ctx, t, "graph.tree.info(graph.tree.children[0][0]).name"); s != "epoll_wait" {
		t.Errorf("the first of the callers' view is %q", s)
	}
	run(ctx, t, chromedp.SetValue(chromedp.CSS("#group"), "thread"),
		chromedp.Evaluate[chromedp.Void](`byId("group").dispatchEvent(new Event("change"))`))
	if s := value[string](ctx, t, "graph.tree.info(graph.tree.children[0][0]).name"); s != "kvd (100)" {
		t.Errorf("the first thread is %q", s)
	}
}

func TestThePageBeginsWithWhatPeopleNeedInABrowser(t *testing.T) {
	ctx := browser(t, wideFixture(t))
	const brief, rest = "overhead: stops ≤ 299 µs", "298 ticks"
	shown := value[string](ctx, t, `byId("comments").innerText`)
	wants(t, "head", shown, brief)
	wants(t, "head", shown, "libjvm.so] (unnamed)")
	wants(t, "facts", text(ctx, t, "#facts"), "time attributed to a function")
	if strings.Contains(shown, rest) {
		t.Errorf("the head has all of the account: %q", shown)
	}
	run(ctx, t, chromedp.Click(chromedp.CSS("#comments summary")))
	wants(t, "unfolded", value[string](ctx, t, `byId("comments").innerText`), rest)
	if n := strings.Count(value[string](ctx, t, `byId("comments").textContent`), brief); n != 1 {
		t.Errorf("the first part stands there %d times", n)
	}
}

func TestThePageFoldsWhatAProgramsOwnFunctionsCallInABrowser(t *testing.T) {
	ctx := browser(t, pythonShop())
	table := func() string { return text(ctx, t, "#functions tbody") }
	const own = "0% 0 s 96% 960 ms main app.py 0% 0 s 96% 960 ms handle " +
		"…in json (40%), called often (40 short stays were seen, from line 12) app.py 0% 0 s 56% 560 ms load " +
		"…in sqlite3 (56%), called often (40 short stays were seen, from line 7) app.py"
	if got := table(); got != own {
		t.Errorf("own functions: %q, want %q", got, own)
	}
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`choice.state = "running"; refresh()`))
	if got := table(); strings.Contains(got, "often") || !strings.Contains(got, "…in json (40%)") {
		t.Errorf("a part of the stays is shown as all: %q", got)
	}
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`choice.state = "all"; refresh()`))
	wants(t, "the rest", text(ctx, t, "#fcount"), "outside of these: python3.11 (4%)")
	boxes := func() string {
		return value[string](ctx, t, "Array.from(graph.tree.parent, (p, n) => graph.tree.info(n).name).join()")
	}
	wants(t, "boxes", boxes(), "all,main,handle,load,…in sqlite3,…in json,…in python3.11")
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`setSearch("sqlite3VdbeExec")`))
	wants(t, "what is folded", text(ctx, t, "#found"), "56% (560 ms)")
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`setSearch("")`), chromedp.Click("//button[text()='callers']"))
	wants(t, "callers", boxes(), "…in sqlite3,load,handle,main")
	run(ctx, t, chromedp.Click("//button[text()='callees']"), chromedp.Click("//td[text()='load']"))
	wants(t, "the chosen function's boxes", boxes(), "all,load,…in sqlite3")
	run(ctx, t, chromedp.KeyEvent("\x1b"), chromedp.Click("//button[text()='all functions']"))
	wants(t, "all functions", table(), "56% 560 ms 56% 560 ms sqlite3VdbeExec libsqlite3.so.0.8.6")
	wants(t, "address", value[string](ctx, t, "location.hash"), "functions=all")
	wants(t, "all boxes", boxes(), "load,sqlite3VdbeExec")
	run(ctx, t, chromedp.Click("//button[text()='own functions']"))
	if got := table(); got != own {
		t.Errorf("own functions again: %q, want %q", got, own)
	}
}

func TestLargePageInABrowser(t *testing.T) {
	ctx := browser(t, large(t, 20_000, 3000))
	if v := value[float64](ctx, t, "graph.tree.total[0]"); v != 20_000*1e7 {
		t.Errorf("the graph holds %g", v)
	}
	if v := value[float64](ctx, t, "table.rows.reduce((n, r) => n + r.self, 0)"); v != 20_000*1e7 {
		t.Errorf("the table holds %g", v)
	}
	wants(t, "note", text(ctx, t, "#note"), "merged into one box")
	run(ctx, t, chromedp.KeyEvent("i"))
	if v := value[float64](ctx, t, "graph.tree.total[0]"); v != 20_000*1e7 {
		t.Errorf("the callers' graph holds %g", v)
	}
}

func TestPageOfAnEmptyProfileInABrowser(t *testing.T) {
	ctx := browser(t, &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	wants(t, "head", text(ctx, t, "header"), "samples 0")
}

func TestThePageHasTheTablesDigitsInABrowser(t *testing.T) {
	p := fixture(t)
	d, err := prepare(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := browser(t, p)
	shown := value[map[string][]string](ctx, t, `Object.fromEntries(table.rows.map((r) =>
		[r.info.name, [share(r.self, table.total), part(r.self, table.total), share(r.total, table.total),
			part(r.total, table.total)]]))`)
	rows := d.Rows(d.Profile.Sample)
	if len(rows) == 0 || len(rows) != len(shown) {
		t.Fatalf("%d functions in the table, %d on the page", len(rows), len(shown))
	}
	for _, r := range rows {
		name := d.Table.Frames[r.Frame].DisplayName()
		want := []string{d.Precision.Share(r.Self), d.Precision.Value(r.Self, d.Unit), d.Precision.Share(r.Total),
			d.Precision.Value(r.Total, d.Unit)}
		for i, got := range shown[name] {
			if strings.ReplaceAll(got, " ", "") != want[i] {
				t.Errorf("%s: the page shows %q, the table %q", name, shown[name], want)
				break
			}
		}
	}
}

func TestThePageOfADifferenceIsAsSureAsTheTableInABrowser(t *testing.T) {
	old := map[uint64]int64{0x10: 100, 0x20: 500, 0x40: 300, 0x60: 20, 0x70: 1}
	pageIsAsSure(t, old, map[uint64]int64{0x10: 210, 0x20: 480, 0x40: 320, 0x60: 45, 0x80: 1}, "run")
	pageIsAsSure(t, old, map[uint64]int64{0x10: 10, 0x20: 48, 0x40: 32, 0x60: 15, 0x80: 3, 0x70: 3}, "share")
}

func pageIsAsSure(t *testing.T, old, now map[uint64]int64, per string) {
	t.Helper()
	ofDifferenceIsAsSure(t, compared(t, ticked(t, 10, old), ticked(t, 10, now), DiffOptions{Per: per}))
}

func TestThePageOfSeveralRunsIsAsSureAsTheTableInABrowser(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	slower := maps.Clone(usual)
	slower[0x30] *= 2
	x, err := DiffRuns(drawn(t, rng, 3, usual, 0, 0), drawn(t, rng, 3, slower, 0, 0), DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ofDifferenceIsAsSure(t, x)
}

func ofDifferenceIsAsSure(t *testing.T, x *Difference) {
	t.Helper()
	ctx := openPage(t, func(b *bytes.Buffer) error { return x.HTML(b) })
	shown := value[map[string][]bool](ctx, t, `Object.fromEntries(table.rows.map((r) =>
		[r.info.name, [!unless(r, 0), !unless(r, 1)]]))`)
	sure := 0
	for i := range x.Changes {
		c := &x.Changes[i]
		if got := shown[c.Name]; len(got) != 2 || got[0] != c.Self.Significant || got[1] != c.Total.Significant {
			t.Errorf("%s: sure on the page %v, in the table %v, %v", c.Name, got, c.Self.Significant, c.Total.Significant)
		}
		if c.Self.Significant || c.Total.Significant {
			sure++
		}
	}
	if sure == 0 || sure == len(x.Changes) {
		t.Errorf("%d of %d functions changed: the recordings show nothing", sure, len(x.Changes))
	}
	wants(t, "comments", text(ctx, t, "#comments"), fmt.Sprintf("%d of %d functions changed significantly", sure,
		len(x.Changes)))
}
