// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

func selected(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	return value[map[string]string](ctx, t, `Object.fromEntries(
		["cpu", "wall", "runqueue", "blocked", "samples"].map((n) => [n, byId("totals").getAttribute("data-" + n)]))`)
}

func TestZoomAndFunctionChangeTheTableInABrowser(t *testing.T) {
	ctx := browser(t, fixture(t))
	if got := selected(ctx, t); got["cpu"] != "1000000000" || got["wall"] != "2205000000" ||
		got["blocked"] != "1170000000" {
		t.Errorf("all: %v", got)
	}
	const rows = `Array.from(document.querySelectorAll("#functions [data-name]"), (r) =>
		[r.dataset.name, r.dataset.self, r.dataset.total].join(" "))`
	if got := value[[]string](ctx, t, rows); got[0] != "compress 500000000 500000000" {
		t.Errorf("the first row: %q", got[0])
	}
	// sleeping threads below have wall time only
	run(ctx, t, chromedp.Evaluate[chromedp.Void](
		`zoom(graph.tree.frame.findIndex((f) => f >= 0 && model.frames[f].name === "serve"))`))
	if got := selected(ctx, t); got["cpu"] != "300000000" || got["wall"] != "1000000000" {
		t.Errorf("zoomed to serve: %v", got)
	}
	got := strings.Join(value[[]string](ctx, t, rows), "\n")
	if strings.Contains(got, "compress") || !strings.Contains(got, "hash(std::string_view) 300000000 300000000") {
		t.Errorf("the table of the zoom:\n%s", got)
	}
	run(ctx, t, chromedp.KeyEvent("\x1b"))
	run(ctx, t, chromedp.Click(chromedp.CSS(`#functions tr[data-name="walk"]`)))
	wants(t, "crumbs", text(ctx, t, "#crumbs"), "only stacks with walk")
	wants(t, "callers", text(ctx, t, "#callers"), "Callers of walk 100% worker")
	wants(t, "callees", text(ctx, t, "#callees"), "walk calls 88% visit 12% [itself]")
	if got := selected(ctx, t); got["cpu"] != "165000000" {
		t.Errorf("stacks with walk: %v", got)
	}
	if s := value[string](ctx, t, "graph.tree.info(graph.tree.children[0][0]).name"); s != "walk" {
		t.Errorf("the graph of walk begins with %q", s)
	}
	run(ctx, t, chromedp.Click("//button[text()='callers']"))
	if s := value[string](ctx, t, "graph.tree.info(graph.tree.children[0][0]).name"); s != "walk" {
		t.Errorf("the callers' graph of walk begins with %q", s)
	}
	run(ctx, t, chromedp.Click(chromedp.CSS("#callers button.near")))
	wants(t, "the caller chosen", text(ctx, t, "#crumbs"), "only stacks with worker")
	run(ctx, t, chromedp.KeyEvent("\x1b"))
	wants(t, "all again", text(ctx, t, "#crumbs"), "all stacks")
}

func TestRunsOfSingleChildrenAreFoldedInABrowser(t *testing.T) {
	ctx := browser(t, fixture(t))
	const boxes = `graph.rects.length`
	folded := value[int](ctx, t, boxes)
	name := value[string](ctx, t, `[graph.rects.find((r) => r.last !== r.n)].map((r) => runName(r.n, r.last))[0]`)
	if want := "__libc_start_main … hash(std::string_view) (5 calls)"; name != want {
		t.Errorf("the run is %q, want %q", name, want)
	}
	run(ctx, t, chromedp.Click(chromedp.CSS("#fold")))
	if all := value[int](ctx, t, boxes); all != folded+6 { // four of this run, two of walk's
		t.Errorf("%d boxes folded, %d not", folded, all)
	}
	run(ctx, t, chromedp.Click(chromedp.CSS("#fold")), chromedp.Evaluate[chromedp.Void](
		`choice.search = "lookup"; search()`))
	if n := value[int](ctx, t, `graph.rects.filter((r) => graph.tree.info(r.n).name === "lookup").length`); n != 1 {
		t.Errorf("what the search has found is in %d boxes of its own", n)
	}
}

func TestThePageNamesWaitsAsTheTerminalInABrowser(t *testing.T) {
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7, Main: app})
	for _, w := range []struct{ wait, what string }{{"epoll_wait", ""}, {"futex", "mutex cache_mu"}} {
		stack := b.Intern(join(at(libc, 0x10), at(app, 0x10)))
		b.Add(rec.Interval{Stack: stack, PID: 7, TID: 7, Comm: "kvd", State: "sleeping", Wait: w.wait,
			WaitsFor: w.what, End: 1_700_000_001e9, Samples: 10, Wall: 1e9})
	}
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
	p := parsed(t, b, fixtureNames)
	d, err := prepare(p, Options{By: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := browser(t, p)
	run(ctx, t, chromedp.Click("//button[text()='blocked']"), chromedp.SetValue(chromedp.CSS("#group"), "wait"),
		chromedp.Evaluate[chromedp.Void](`byId("group").dispatchEvent(new Event("change"))`))
	shown := value[[]string](ctx, t, "graph.tree.children[0].map((n) => graph.tree.info(n).name)")
	groups := d.Groups("wait")
	if len(shown) != len(groups) || len(shown) != 2 {
		t.Fatalf("the page has %q, the terminal %d groups", shown, len(groups))
	}
	for _, g := range groups {
		if !strings.Contains(strings.Join(shown, "\n"), g.Name) {
			t.Errorf("%q is not among %q", g.Name, shown)
		}
	}
}

func TestThePageFitsATelephoneInABrowser(t *testing.T) {
	pages := map[string]func(io.Writer) error{
		"recording":  func(w io.Writer) error { return HTML(w, wideFixture(t), Options{}) },
		"difference": compared(t, fixture(t), fixture(t), DiffOptions{}).HTML,
	}
	for name, write := range pages {
		ctx := openPage(t, func(b *bytes.Buffer) error { return write(b) })
		run(ctx, t, chromedp.EmulateViewport(420, 900))
		show(ctx, t, "view=flame")
		run(ctx, t, chromedp.Click(chromedp.CSS("#functions tbody tr")))
		wide := value[[]string](ctx, t, `[...document.querySelectorAll("body *:not(#tip)")].filter((e) =>
			e.getBoundingClientRect().right > 421).map((e) => e.tagName + "#" + e.id + " " + e.className)`)
		if w := value[int](ctx, t, "document.documentElement.scrollWidth"); w > 420 || len(wide) > 0 {
			t.Errorf("%s: the page is %d pixels wide; beyond 420: %q", name, w, wide)
		}
	}
}

func TestThePageHasTheClockBlocked(t *testing.T) {
	page := render(t, HTML, fixture(t), Options{})
	if !strings.Contains(page, `["`+view.TypeBlocked+`","nanoseconds"]`) || !strings.Contains(page, `"value":3`) {
		t.Error("the page lacks the clock, or no longer opens with cpu")
	}
}

func TestThePageSaysHowMuchOfASelectionIsTrueInABrowser(t *testing.T) {
	b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7, Main: app})
	mark := func(name string) []rec.Loc { return []rec.Loc{{Synthetic: name}} }
	incomplete := join(at(app, 0x30), mark("[incomplete: no-rule]"))
	for i, s := range [][]rec.Loc{
		at(app, 0x40, 0x10), incomplete, join(mark("[ran between ticks]"), incomplete), join(mark("[kernel]"), at(app, 0x10)),
	} {
		iv := rec.Interval{Stack: b.Intern(s), PID: 7, TID: 7, Comm: "kvd", State: "running",
			End: 1_700_000_000e9 + int64(i+1)*1e9, Wall: 1e9, CPU: 1e9}
		if i < 2 {
			iv.Samples = 50
		}
		b.Add(iv)
	}
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_004, 0))
	ctx := browser(t, parsed(t, b, fixtureNames))
	const ofSampled, ofAll = " looks a second and thread; of the sampled CPU time ", " of CPU time has no sample"
	for _, s := range []struct{ times, want string }{
		{"from=0s&to=4s", "25" + ofSampled + "50.0% has complete stacks; 2.00 s of 4.00 s" + ofAll},
		{"from=0s&to=1s", "50" + ofSampled + "100.0% has complete stacks"},
		{"from=1s&to=3s", "25" + ofSampled + "0.0% has complete stacks; 1.00 s of 2.00 s" + ofAll},
		{"from=2s&to=4s", "0.0 looks a second and thread; no CPU time was sampled; 2.00 s of 2.00 s" + ofAll},
	} {
		show(ctx, t, s.times)
		if got := text(ctx, t, "#truth"); got != s.want {
			t.Errorf("%s: %q, want %q", s.times, got, s.want)
		}
	}
}
