// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// intervalsOf reads pageTimes.Columns, and fills page.Rows.
func intervalsOf(t testing.TB, d *page) []pageInterval {
	t.Helper()
	b, err := io.ReadAll(flate.NewReader(bytes.NewReader(d.Times.Columns)))
	if err != nil || len(b) != d.Times.Size {
		t.Fatalf("%d bytes of %d: %v", len(b), d.Times.Size, err)
	}
	next := func() int64 {
		v, n := binary.Varint(b)
		b = b[max(n, 0):]
		return v
	}
	stride := 2 + len(d.Types)
	d.Rows = make([]int64, d.Times.Rows*stride)
	for field := range 2 {
		before := int64(0)
		for at := field; at < len(d.Rows); at += stride {
			before += next()
			d.Rows[at] = before
		}
	}
	list := make([]pageInterval, d.Times.Count)
	for i := range list {
		list[i] = pageInterval{row: int32(next()), values: make([]int64, len(d.Types))}
	}
	for i := range list {
		list[i].begin = next()
	}
	end := int64(0)
	for i := range list {
		list[i].begin += end
		end = list[i].begin + next()
		list[i].end = end
	}
	p := &profile.Profile{}
	for _, k := range d.Types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: k[0], Unit: k[1]})
	}
	decoder := &pageBuilder{page: *d, data: &data{Data: &view.Data{Selection: view.Selection{Profile: p}}}}
	for n := range d.Types {
		for i := range list {
			list[i].values[n] = next() + decoder.predict(&list[i], n)
		}
	}
	if len(b) > 0 {
		t.Fatalf("%d bytes are left", len(b))
	}
	return list
}

// A server for ten seconds: two workers that compute, one of which holds a lock from 3.1 s to 3.5 s while the other
// waits for it; a thread that sleeps; many that do the same; one that is busy from 7 s to 8 s only.
func timedFixture(tb testing.TB) *profile.Profile {
	const second = int64(time.Second)
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 10 * time.Millisecond, Main: app})
	rng := rand.New(rand.NewPCG(1, 2))
	clone := at(libc, 0x30)
	put := func(tid int, thread string, stack []rec.Loc, iv rec.Interval, from, to int64) {
		iv.Stack, iv.PID, iv.TID, iv.Comm, iv.Thread = b.Intern(stack), 100, tid, "kvd", thread
		iv.End, iv.Wall = start.UnixNano()+to, to-from
		if iv.State == "running" {
			iv.RunQueue = rng.Int64N(iv.Wall / 3)
			iv.CPU = iv.Wall - iv.RunQueue
		}
		b.Add(iv)
	}
	run := func(tid int, thread string, stack []rec.Loc, from, to int64) {
		for t := from; t < to; {
			next := min(to, t+9e6+rng.Int64N(2e6))
			put(tid, thread, stack, rec.Interval{State: "running", Samples: 1}, t, next)
			t = next
		}
	}
	sleep := func(tid int, thread, wait, what string, owner int, stack []rec.Loc, from, to int64) {
		put(tid, thread, stack, rec.Interval{State: "sleeping", Wait: wait, WaitsFor: what, Owner: owner,
			Samples: max(1, (to-from)/1e7)}, from, to)
	}
	worker := func(offsets ...uint64) []rec.Loc { return join(at(app, append(offsets, 0x50)...), clone) }
	run(101, "worker-1", worker(0x40), 0, 3100e6)
	run(101, "worker-1", worker(0x70, 0x60), 3100e6, 3500e6) // with the lock
	run(101, "worker-1", worker(0x40), 3500e6, 10*second)
	run(102, "worker-2", worker(0x30, 0x20), 0, 3102e6)
	sleep(102, "worker-2", "futex", "mutex cache_mu", 101, join(at(libc, 0x20), worker(0x20)), 3102e6, 3504e6)
	run(102, "worker-2", worker(0x30, 0x20), 3504e6, 6*second)
	run(102, "worker-2", worker(0x70, 0x20), 6*second, 10*second)
	sleep(100, "kvd", "epoll_wait", "", 0, join(at(libc, 0x10), at(app, 0x10)), 0, 10*second)
	sleep(103, "spike", "nanosleep", "", 0, worker(0x10), 0, 7*second)
	run(103, "spike", worker(0x80), 7*second, 8*second)
	sleep(103, "spike", "nanosleep", "", 0, worker(0x10), 8*second, 10*second)
	for tid := 200; tid < 230; tid++ {
		sleep(tid, fmt.Sprint("pool-", tid), "futex", "", 0, join(at(libc, 0x20), worker()), 0, 10*second)
	}
	b.SetWindow(start, start.Add(10*time.Second))
	return parsed(tb, b, fixtureNames)
}

// shown is the page's state, read in one evaluation.
type shown struct {
	Hash   string
	Totals map[string]string
	Rows   map[string][2]string
	Waits  map[string]string
	Tracks []string
	Views  []string // the sections that are seen
}

const shownScript = `({hash: location.hash, totals: {...byId("totals").dataset},
	rows: Object.fromEntries([...byId("functions").querySelectorAll("[data-name]")].map((r) =>
		[r.dataset.name, [r.dataset.self, r.dataset.total]])),
	waits: Object.fromEntries([...byId("waits").querySelectorAll("[data-name]")].map((r) =>
		[r.dataset.name, r.dataset.blocked])),
	tracks: [...document.querySelectorAll("#threads:not([hidden]) [data-thread]")].map((r) => r.dataset.thread),
	views: ["view", "functions-section", "waits-section", "threads"].filter((id) => !byId(id).hidden)})`

// show sets the fragment, and returns the state when the page has taken it.
func show(ctx context.Context, t *testing.T, fragment string) shown {
	t.Helper()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[shown](fmt.Sprintf(`new Promise((done) => {
		addEventListener("hashchange", () => done(%s), {once: true}); location.hash = ""; location.hash = %q; })`,
		shownScript, fragment),
		chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", fragment, err)
	}
	return s
}

func TestAPartOfTheTimeIsThatOfTheReportInABrowser(t *testing.T) {
	p := timedFixture(t)
	partsAsReported(browser(t, p), t, p, [][2]time.Duration{
		{2 * time.Second, 3 * time.Second}, {0, 10 * time.Second}, {3123456789, 3400000001}, {7999999999, 8000000001},
		{9500 * time.Millisecond, 10 * time.Second}, {1, 2}, {3301 * time.Millisecond, 3302 * time.Millisecond},
	})
}

// partsAsReported compares parts of the time on the page with report --json.
func partsAsReported(ctx context.Context, t *testing.T, p *profile.Profile, parts [][2]time.Duration) {
	t.Helper()
	for _, r := range parts {
		s := show(ctx, t, fmt.Sprintf("from=%s&to=%s&view=functions&value=wall", r[0], r[1]))
		var out bytes.Buffer
		if err := JSON(&out, p, false, Options{From: r[0], To: r[1], Value: "wall"}); err != nil {
			t.Fatal(err)
		}
		var want jsonReport
		if err := json.Unmarshal(out.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		for clock, v := range want.Total {
			if got := s.Totals[clock]; got != fmt.Sprint(v) {
				t.Errorf("%v: %s: the page has %s, the report %d", r, clock, got, v)
			}
		}
		if c := want.Total; c["cpu"]+c["runqueue"]+c["blocked"] != c["wall"] || c["wall"] == 0 {
			t.Errorf("%v: the clocks do not add up: %v", r, c)
		}
		names := map[string]int{}
		for _, f := range want.Functions {
			names[f.Name]++
		}
		for _, f := range want.Functions {
			if f.Total["wall"] == 0 || names[f.Name] > 1 { // of several modules
				continue
			}
			if got := s.Rows[f.Name]; got != [2]string{fmt.Sprint(f.Self["wall"]), fmt.Sprint(f.Total["wall"])} {
				t.Errorf("%v: %s: the page has %v, the report %d, %d", r, f.Name, got, f.Self["wall"], f.Total["wall"])
			}
		}
		if len(s.Rows) == 0 || len(s.Rows) > len(want.Functions) {
			t.Errorf("%v: %d functions in the page, %d in the report", r, len(s.Rows), len(want.Functions))
		}
	}
}

func TestTheAddressHasTheStateOfThePageInABrowser(t *testing.T) {
	ctx := browser(t, timedFixture(t))
	for view, section := range map[string]string{"flame": "view functions-section", "functions": "functions-section",
		"waits": "waits-section", "tracks": "threads"} {
		if s := show(ctx, t, "view="+view); strings.Join(s.Views, " ") != section {
			t.Errorf("%s shows %q", view, s.Views)
		}
	}
	const given = "#from=2s&to=3.5s&view=waits&search=futex&thread=worker-2"
	s := show(ctx, t, given)
	if s.Hash != given {
		t.Errorf("%s became %s", given, s.Hash)
	}
	if len(s.Waits) != 1 || s.Totals["wall"] != "1500000000" {
		t.Errorf("%v", s)
	}
	run(ctx, t, chromedp.Reload())
	again := value[shown](ctx, t, shownScript)
	if fmt.Sprint(again) != fmt.Sprint(s) {
		t.Errorf("after a reload:\n%v, want\n%v", again, s)
	}
	for _, bad := range []string{"#from=x&to=-3s&view=none&thread=(", "#from=9s&to=2s", "#view=%E0%A4%A",
		"#from=1e99s&to=99h"} {
		if s := show(ctx, t, bad); len(s.Totals) != 5 {
			t.Errorf("%s: %v", bad, s)
		}
	}
}

func TestManyIntervalsAreMergedInCellsOfTimeInABrowser(t *testing.T) {
	before := maxPageIntervals
	maxPageIntervals = 1000
	t.Cleanup(func() { maxPageIntervals = before })
	p := timedFixture(t)
	d := pageData(t, render(t, HTML, p, Options{}))
	if d.Times.Grid != 100e6 || d.Times.Count > 1000 || !strings.Contains(d.Note, "multiples of 100ms") {
		t.Fatalf("%d intervals of %d, at multiples of %d: %q", d.Times.Count, len(p.Sample), d.Times.Grid, d.Note)
	}
	ctx := browser(t, p)
	s := show(ctx, t, "from=3.101s&to=3.399s&view=functions")
	if !strings.HasPrefix(s.Hash, "#from=3.1s&to=3.4s&") {
		t.Errorf("not moved to the cells: %s", s.Hash)
	}
	x, err := prepare(view.WithBlocked(p), Options{From: 3100 * time.Millisecond, To: 3400 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for clock, v := range jsonTotals(x) {
		if s.Totals[clock] != fmt.Sprint(v) {
			t.Errorf("%s: the page has %s, the report %d", clock, s.Totals[clock], v)
		}
	}
}

// A thread changes between two stacks within each cell: merged, these are one after the other, and their sums the same.
func TestMergedIntervalsOfAThreadDoNotOverlap(t *testing.T) {
	before := maxPageIntervals
	maxPageIntervals = 100
	t.Cleanup(func() { maxPageIntervals = before })
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 1e7, Main: app})
	rng, walls := rand.New(rand.NewPCG(1, 2)), [3]int64{}
	for tid := 1; tid < 3; tid++ {
		for from := int64(0); from < 1e9; {
			which, to := rng.IntN(3), min(1e9, from+1e6+rng.Int64N(9e6))
			if which > 0 { // else it was not observed
				b.Add(rec.Interval{Stack: b.Intern(at(app, uint64(0x10*which))), PID: 7, TID: tid, Comm: "kvd", State: "running",
					End: start.UnixNano() + to, Samples: 1, Wall: to - from, CPU: to - from})
				walls[which] += to - from
			}
			from = to
		}
	}
	b.SetWindow(start, start.Add(time.Second))
	d := pageData(t, render(t, HTML, parsed(t, b, fixtureNames), Options{}))
	ends, got := map[int]int64{}, map[int64]int64{}
	for _, i := range intervalsOf(t, &d) {
		at := int(i.row) * (2 + len(d.Types))
		thread := d.Contexts[4*d.Rows[at+1]]
		if i.begin < ends[thread] || i.end/d.Times.Grid > i.begin/d.Times.Grid+1 {
			t.Errorf("thread %d: %d to %d, the one before ends at %d", thread, i.begin, i.end, ends[thread])
		}
		ends[thread], got[d.Rows[at]] = i.end, got[d.Rows[at]]+i.end-i.begin
	}
	if d.Times.Grid == 0 || len(got) != 2 || got[1]+got[2] != walls[1]+walls[2] || min(got[1], got[2]) !=
		min(walls[1], walls[2]) {
		t.Errorf("cells of %d; walls %v, want %v", d.Times.Grid, got, walls)
	}
}

func TestADragSelectsAPartOfTheTimeInABrowser(t *testing.T) {
	ctx := browser(t, timedFixture(t))
	at := value[[]float64](ctx, t, `(() => { const r = overview.canvas.getBoundingClientRect();
		return [r.left + 0.2 * r.width, r.left + 0.4 * r.width, r.top + 20]; })()`)
	run(ctx, t, chromedp.DragAndDropXY(at[0], at[2], at[1], at[2]))
	s := value[shown](ctx, t, shownScript)
	var from, to float64
	if _, err := fmt.Sscanf(s.Hash, "#from=%fs&to=%fs&view=flame", &from, &to); err != nil || from < 1.9 || from > 2.1 ||
		to < 3.9 || to > 4.1 {
		t.Errorf("a drag from 2 s to 4 s selects %s: %v", s.Hash, err)
	}
	run(ctx, t, chromedp.KeyEvent("\x1b"))
	if s := value[shown](ctx, t, shownScript); s.Hash != "#view=flame" || s.Totals["wall"] == "" {
		t.Errorf("after Esc: %s", s.Hash)
	}
	run(ctx, t, chromedp.Focus(chromedp.CSS("#overview")), chromedp.KeyEvent(kb.ArrowRight),
		chromedp.KeyEvent(kb.ArrowRight))
	if s := value[shown](ctx, t, shownScript); !strings.HasPrefix(s.Hash, "#from=0.5s&to=1.5s&") {
		t.Errorf("the arrow keys select %s", s.Hash)
	}
}

// What people ask, answered from the page alone.
func TestFivePeoplesQuestionsInABrowser(t *testing.T) {
	ctx := browser(t, timedFixture(t))
	const detail = `byId("wait").innerText`
	t.Run("Which thread was late at 3.2 s?", func(t *testing.T) {
		s := show(ctx, t, "from=3.2s&to=3.3s&view=tracks")
		late := value[[]string](ctx, t, `[...document.querySelectorAll(".track")].filter((r) =>
			r.querySelector(".what").innerText === "100% lock").map((r) => r.dataset.thread)`)
		if s.Tracks[0] != "worker-1 (101)" || !slices.Equal(late, []string{"pool-*", "worker-2 (102)"}) {
			t.Errorf("tracks %q, late %q", s.Tracks, late)
		}
		at := value[[]float64](ctx, t, `(() => { const r = document.querySelector('[data-thread="worker-2 (102)"] canvas').
			getBoundingClientRect(); return [r.left + 0.5 * r.width, r.top + 9]; })()`)
		run(ctx, t, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
		wants(t, "the pointer on it", text(ctx, t, "#tip"), "worker-2 (102) at 3.25s futex: mutex cache_mu for 402 ms")
		wants(t, "the pointer on it", text(ctx, t, "#tip"), "owner: worker-1 (101) pthread_cond_wait serve worker")
	})
	t.Run("What did it wait for?", func(t *testing.T) {
		s := show(ctx, t, "from=3.2s&to=3.3s&view=waits&thread=worker-2")
		if len(s.Waits) != 1 || s.Waits["futex: mutex cache_mu"] != "100000000" {
			t.Errorf("%v", s.Waits)
		}
	})
	t.Run("What did the lock's holder do?", func(t *testing.T) {
		got := value[string](ctx, t, detail)
		wants(t, "the owner", got, "owner: worker-1 (101) for 100 ms; meanwhile, for 100 ms, it was running\nvisit\nwalk")
	})
	t.Run("What changed after the deploy?", func(t *testing.T) {
		s := show(ctx, t, "from=6s&to=9s&other=0s-1.5s&view=flame&thread=worker-2&value=wall")
		changed := value[map[string]string](ctx, t, `Object.fromEntries(
			[...byId("functions").querySelectorAll("[data-change]")].map((r) => [r.dataset.name, r.dataset.change]))`)
		if !strings.Contains(s.Hash, "other=0s-1.5s") || changed["visit"] != "+3.00 s (only here)" ||
			changed["hash(std::string_view)"] != "−3.00 s (not here)" || changed["worker"] != "0 s" {
			t.Errorf("%s: %q", s.Hash, changed)
		}
		boxes := value[string](ctx, t, "graph.rects.slice(1).map((r) => signOf(r.n) + graph.tree.info(r.n).name).join(', ')")
		wants(t, "the boxes", boxes, "≈ clone3, + visit")
	})
	t.Run("Where did the CPU go in the spike?", func(t *testing.T) {
		s := show(ctx, t, "from=7s&to=8s&thread=spike&view=functions")
		if r := s.Rows[`evil</script><b onclick="x">&;name`]; r[0] != s.Totals["cpu"] || r[0] == "" {
			t.Errorf("%v of %v", s.Rows, s.Totals)
		}
	})
}

// What was merged in a cell is moved only where it overlaps.
func TestIntervalsOfACellStayAtTheirTimes(t *testing.T) {
	p := fixture(t)
	b := &pageBuilder{data: &data{Data: &view.Data{Selection: view.Selection{Profile: p}}}}
	clocks, _ := view.ClocksOf(p)
	list := make([]pageInterval, 3)
	for i, at := range [][3]int64{{0, 10, 10}, {50, 60, 10}, {55, 70, 10}} { // begin, end, wall
		list[i] = pageInterval{begin: at[0], end: at[1], values: make([]int64, len(p.SampleType))}
		list[i].values[clocks.Wall] = at[2]
	}
	b.inTurn(list, 0)
	for i, want := range [][2]int64{{0, 10}, {50, 60}, {60, 70}} {
		if got := [2]int64{list[i].begin, list[i].end}; got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
