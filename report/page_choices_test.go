// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

func zoomTo(ctx context.Context, t *testing.T, function string) {
	t.Helper()
	run(ctx, t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`zoom(graph.tree.frame.findIndex((f) => f >= 0 && model.frames[f].name === %q))`, function)))
}

const zoomedBox = `graph.tree.info(choice.zoom).name`

func TestTheZoomSurvivesEachSwitchAndAReloadInABrowser(t *testing.T) {
	ctx := browser(t, fixture(t))
	zoomTo(ctx, t, "lookup")
	zoomed := value[shown](ctx, t, shownScript)
	same := func(what, box string) {
		t.Helper()
		s := value[shown](ctx, t, shownScript)
		if fmt.Sprint(s.Totals) != fmt.Sprint(zoomed.Totals) || value[string](ctx, t, zoomedBox) != box {
			t.Errorf("%s: zoomed to %s, %v, want %s, %v", what, value[string](ctx, t, zoomedBox), s.Totals, box, zoomed.Totals)
		}
	}
	if zoomed.Totals["cpu"] != "300000000" {
		t.Fatalf("%v", zoomed.Totals)
	}
	run(ctx, t, chromedp.Reload())
	same("reloaded", "lookup")
	for _, view := range []string{"waits", "flame"} {
		run(ctx, t, chromedp.Click(chromedp.CSS("#view-"+view)))
		same(view, "lookup")
	}
	run(ctx, t, chromedp.Click("//button[text()='wall']"))
	same("another clock", "lookup")
	run(ctx, t, chromedp.Click("//button[text()='cpu']"), chromedp.KeyEvent("i"))
	same("callers", "__libc_start_main")
	wants(t, "callers", text(ctx, t, "#crumbs"), "only stacks with lookup")
	run(ctx, t, chromedp.Reload())
	same("callers, reloaded", "__libc_start_main")
	run(ctx, t, chromedp.KeyEvent("i"))
	same("callees again", "lookup")
	if s := text(ctx, t, "#crumbs"); strings.Contains(s, "only stacks") {
		t.Errorf("callees again: %s", s)
	}
	run(ctx, t, chromedp.SetValue(chromedp.CSS("#group"), "thread"),
		chromedp.Evaluate[chromedp.Void](`byId("group").dispatchEvent(new Event("change"))`))
	same("in its thread", "lookup")
	wants(t, "the group", value[string](ctx, t, "location.hash"), "&in=kvd%20(100)")
	run(ctx, t, chromedp.Reload())
	same("in its thread, reloaded", "lookup")
}

func TestFoldedBoxesAreInTheAddressInABrowser(t *testing.T) {
	ctx := browser(t, pythonShop())
	run(ctx, t, chromedp.Evaluate[chromedp.Void](
		`zoom(Array.from(graph.tree.parent, (_, n) => graph.tree.info(n).name).indexOf("…in sqlite3"))`))
	before := selected(ctx, t)
	run(ctx, t, chromedp.KeyEvent("i"))
	if got := selected(ctx, t); fmt.Sprint(got) != fmt.Sprint(before) || value[string](ctx, t, zoomedBox) != "main" {
		t.Errorf("the callers of …in sqlite3: %v, want %v", got, before)
	}
	run(ctx, t, chromedp.KeyEvent("i"), chromedp.Reload())
	if got := selected(ctx, t); fmt.Sprint(got) != fmt.Sprint(before) ||
		value[string](ctx, t, zoomedBox) != "…in sqlite3" {
		t.Errorf("reloaded: %v, want %v", got, before)
	}
}

func TestFunctionsAreLeftOutAsByIgnoreInABrowser(t *testing.T) {
	p := timedFixture(t)
	ctx := browser(t, p)
	ignored := func(ignore string) string {
		var out bytes.Buffer
		if err := JSON(&out, p, false, Options{Ignore: ignore, From: 2 * time.Second, To: 8 * time.Second}); err != nil {
			t.Fatal(err)
		}
		var want jsonReport
		if err := json.Unmarshal(out.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(want.Total["cpu"], want.Total["wall"], want.Total["blocked"])
	}
	check := func(what, ignore string) {
		t.Helper()
		s := selected(ctx, t)
		if got := strings.Join([]string{s["cpu"], s["wall"], s["blocked"]}, " "); got != ignored(ignore) {
			t.Errorf("%s: the page has %s, report --ignore %s", what, got, ignored(ignore))
		}
	}
	show(ctx, t, "from=2s&to=8s&view=flame&function=compress")
	run(ctx, t, chromedp.KeyEvent("x"))
	check("the chosen function", "^compress$")
	run(ctx, t, chromedp.Evaluate[chromedp.Void](`leaveOut(model.frames.findIndex((f) => f.name === "visit"))`))
	check("two functions", "^compress$|^visit$")
	run(ctx, t, chromedp.Reload())
	check("reloaded", "^compress$|^visit$")
	if rows := value[shown](ctx, t, shownScript).Rows; len(rows) == 0 || rows["visit"][0] != "" {
		t.Errorf("the table: %v", rows)
	}
	run(ctx, t, chromedp.Click("//button[text()='✕ without visit']"))
	check("one again", "^compress$")
	run(ctx, t, chromedp.KeyEvent("\x1b"))
	check("Esc", "")
}

func TestTheGraphIsReadByKeysInABrowser(t *testing.T) {
	ctx := browser(t, fixture(t))
	run(ctx, t, chromedp.Focus(chromedp.CSS("#graph")))
	said := func(want string, keys ...string) {
		t.Helper()
		for _, k := range keys {
			run(ctx, t, chromedp.KeyEvent(k))
		}
		if got := value[string](ctx, t, `byId("said").textContent`); !strings.HasPrefix(got, want) {
			t.Errorf("after %q: %q, want %q", keys, got, want)
		}
	}
	said("clone3; libc.so.6; total 680 ms · 68% of all", kb.ArrowDown)
	said("worker;", kb.ArrowDown)
	said("clone3;", kb.ArrowUp)
	said("__libc_start_main; main; serve; lookup; hash(std::string_view);", kb.ArrowRight)
	said("__libc_start_main; main; serve; lookup; hash(std::string_view);", kb.ArrowDown)
	said("clone3;", kb.ArrowLeft)
	said("clone3; libc.so.6; total 680 ms", "\r")
	if box := value[string](ctx, t, zoomedBox); box != "clone3" {
		t.Errorf("Enter zooms to %s", box)
	}
	said("all", kb.ArrowUp)
	said("worker;", kb.ArrowDown, kb.ArrowDown)
	run(ctx, t, chromedp.KeyEvent("\x1b"), chromedp.Focus(chromedp.CSS("#functions tbody tr")), chromedp.KeyEvent("\r"))
	wants(t, "Enter on a function", text(ctx, t, "#crumbs"), "only stacks with compress")
	run(ctx, t, chromedp.Focus(chromedp.CSS("#view-flame")), chromedp.KeyEvent(kb.ArrowRight),
		chromedp.KeyEvent(kb.ArrowRight))
	if got := value[string](ctx, t, "document.activeElement.id"); got != "view-waits" {
		t.Errorf("the arrow keys lead from the first view to %s", got)
	}
}

func TestNamesAreCutSoThatTheMethodStaysInABrowser(t *testing.T) {
	ctx := browser(t, fixture(t))
	for _, c := range []struct {
		name string
		room int
		want string
	}{
		{"compress", 8, "compress"},
		{"com.example.shop.Cart.checkout(java.util.List, int)", 24, "…shop.Cart.checkout(…)"},
		{"com.example.shop.Cart.checkout(java.util.List, int)", 6, "check…"},
		{"ns::Map<a::B, c::D>::insert(a::B const&) const", 20, "…insert(…)"},
		{"crypto/sha256.(*Digest).checkSum", 24, "…(*Digest).checkSum"},
		{"Thread-* (process_request_thread)", 12, "Thread-* (p…"},
		{"a_function_in_c", 9, "a_functi…"}, {"x", 0, ""},
	} {
		if got := value[string](ctx, t, fmt.Sprintf("shorten(%q, %d)", c.name, c.room)); got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.name, c.room, got, c.want)
		}
	}
}

func TestADifferenceIsReadWithoutColoursInABrowser(t *testing.T) {
	old := map[uint64]int64{0x10: 100, 0x20: 500, 0x40: 300, 0x60: 200}
	now := map[uint64]int64{0x10: 900, 0x20: 505, 0x40: 30, 0x70: 300}
	x := compared(t, ticked(t, 10, old), ticked(t, 10, now), DiffOptions{})
	ctx := openPage(t, func(b *bytes.Buffer) error { return x.HTML(b) })
	boxes := value[string](ctx, t, `graph.rects.slice(1).map((r) => signOf(r.n) + graph.tree.info(r.n).name).join()`)
	if want := "+ main,+ main,≈ serve,+ visit,− compress"; boxes != want {
		t.Errorf("boxes: %s, want %s", boxes, want)
	}
	wants(t, "what is not drawn", text(ctx, t, "#crumbs"), "Only the old recording has stacks with 2.00 s (18% of it)")
	rows := text(ctx, t, "#functions tbody")
	for _, want := range []string{"+8.00 s", "≈ +50.0 ms", "+3.00 s (only new)", "−2.00 s (only old)"} {
		wants(t, "the table", rows, want)
	}
	run(ctx, t, chromedp.Click("//button[text()='old']"))
	wants(t, "the old recording", text(ctx, t, "#crumbs"), "Only the new recording has stacks with 3.00 s (17.3% of it)")
}

func TestASearchHasTheShareOfThreadsInABrowser(t *testing.T) {
	ctx := browser(t, timedFixture(t))
	show(ctx, t, "view=flame&search=pool-&value=wall")
	wants(t, "found", text(ctx, t, "#found"), "0% (0 s) on matching stacks, 88.2% (5.00 min) of 30 matching threads")
}

// waitingFixture makes a recording of six threads: one waits for a lock of Python that stores no owner, one likely
// holds it, four wait otherwise.
func waitingFixture(t *testing.T) *profile.Profile {
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 1e7, Main: app})
	add := func(tid int, state, wait, what string, from, to int64, stack ...uint64) {
		iv := rec.Interval{Stack: b.Intern(at(app, stack...)), PID: 7, TID: tid, Comm: "shop", Thread: fmt.Sprint("t", tid),
			State: state, Wait: wait, WaitsFor: what, End: start.UnixNano() + to, Samples: 1, Wall: to - from}
		if state == "running" {
			iv.CPU = iv.Wall
		}
		b.Add(iv)
	}
	add(8, "sleeping", "futex", pythonLock, 0, 2e9, 0x20, 0x10)
	for from := int64(0); from < 2e9; from += 1e7 { // as sampled; of three ticks nothing is known
		if from < 1e9 || from >= 1e9+3e7 {
			add(9, "running", "", "", from, from+1e7, 0x40, 0x20, 0x10)
		}
	}
	add(10, "sleeping", "futex", "sleep", 0, 2e9, 0x50)
	add(11, "sleeping", "nanosleep", "", 0, 2e9, 0x60)
	add(12, "sleeping", "", "", 0, 2e9, 0x70)
	add(13, "sleeping", "asyncio.sleep", "", 0, 2e9, 0x60)
	b.SetWindow(start, start.Add(2*time.Second))
	return parsed(t, b, fixtureNames)
}

func TestTheWaitsBeginWithTheOwnerBesideTheWaiterInABrowser(t *testing.T) {
	ctx := browser(t, waitingFixture(t))
	s := show(ctx, t, "view=waits")
	const lock = "futex: threading.Lock in serve"
	if s.Waits[lock] != "2000000000" {
		t.Fatalf("%v", s.Waits)
	}
	box := text(ctx, t, "#wait")
	wants(t, "the waiter", box, "waits in "+lock+": 2.00 s with this stack serve main")
	wants(t, "the owner", box,
		"likely owner: t9 (9) for 2.00 s; meanwhile, for 1.97 s, it was running compress serve main")
	wants(t, "a guess", box, "A likely owner is a guess")
	run(ctx, t, chromedp.Click(chromedp.CSS(`#waits [data-name="`+lock+`"]`)))
	if n := value[int](ctx, t, `document.querySelectorAll("#wait").length`); n != 0 {
		t.Error("a second click leaves it open")
	}
	run(ctx, t, chromedp.Click(chromedp.CSS(`#waits [data-name="nanosleep"]`)))
	wants(t, "after a click", text(ctx, t, "#wait"), "waits in nanosleep: 2.00 s with this stack walk")
	run(ctx, t, chromedp.Reload())
	wants(t, "after a reload", text(ctx, t, "#wait"), "waits in nanosleep: 2.00 s with this stack walk")
	kinds := value[map[string]string](ctx, t, `Object.fromEntries([...document.querySelectorAll("#waits [data-name]")].map(
		(r) => [r.dataset.name, r.querySelector(".kind").textContent]))`)
	if got, want := fmt.Sprint(kinds), fmt.Sprint(map[string]string{lock: "lock", "nanosleep": "timer",
		"asyncio.sleep": "timer", "sleeping": "other",
		"futex: sleep [idle? its function is called worker]": "timer"}); got != want {
		t.Errorf("kinds: %s, want %s", got, want)
	}
}
