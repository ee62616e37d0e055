// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	rec "prywalk/internal/store/profile"
)

func theme(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	run(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}))
}

// badLooks lists elements beyond the window, controls over each other, and texts with too little contrast to what is
// behind them (4.5, WCAG 2.1 level AA).
const badLooks = `(() => {
	const seen = (e) => e.checkVisibility() && e.id !== "said" && !e.closest("#tip");
	const name = (e) => e.tagName + "#" + e.id + " " + e.className + " " + e.textContent.slice(0, 20);
	const all = [...document.querySelectorAll("body *")].filter(seen), bad = [];
	for (const e of all) if (e.getBoundingClientRect().right > innerWidth + 1) bad.push("beyond: " + name(e));
	const controls = [...document.querySelectorAll("nav button, nav select, nav input")].filter(seen);
	controls.forEach((a, i) => controls.slice(i + 1).forEach((b) => {
		const [x, y] = [a, b].map((e) => e.getBoundingClientRect());
		if (x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 1 && y.top < x.bottom - 1)
			bad.push("over each other: " + name(a) + ", " + name(b));
	}));
	const channels = (c) => c.match(/[\d.]+/g).map(Number);
	const light = (c) => { const [r, g, b] = channels(c).map((v) => v / 255).map((v) =>
		v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
		if ((channels(c)[3] ?? 1) > 0.5) return c; } return "rgb(255, 255, 255)"; };
	for (const e of all) if ([...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && !e.disabled) {
		const [a, b] = [getComputedStyle(e).color, behind(e)].map(light),
			ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) bad.push("contrast " + ratio.toFixed(1) + ": " + name(e));
	}
	return bad;
})()`

func TestEachViewFitsItsWindowInBothThemesInABrowser(t *testing.T) {
	p := timedFixture(t)
	difference := compared(t, fixture(t), fixture(t), DiffOptions{}).HTML
	for name, page := range map[string]struct {
		write     func(io.Writer) error
		fragments []string
	}{
		"recording": {func(w io.Writer) error { return HTML(w, p, Options{}) }, []string{"view=flame",
			"view=functions", "view=waits", "view=tracks",
			"view=flame&from=6s&to=9s&other=0s-1.5s&value=wall", "view=flame&function=worker&search=compress"}},
		"wide": {func(w io.Writer) error { return HTML(w, wideFixture(t), Options{}) },
			[]string{"view=flame", "view=waits"}},
		"difference": {difference, []string{"view=flame", "view=functions", "view=flame&function=worker"}},
		"own":        {func(w io.Writer) error { return HTML(w, pythonShop(), Options{}) }, []string{"view=flame"}},
	} {
		ctx := openPage(t, func(b *bytes.Buffer) error { return page.write(b) })
		for _, scheme := range []string{"light", "dark"} {
			theme(ctx, t, scheme)
			for _, width := range []int64{420, 1600} {
				run(ctx, t, chromedp.EmulateViewport(width, 900))
				for _, fragment := range page.fragments {
					show(ctx, t, fragment)
					if bad := value[[]string](ctx, t, badLooks); len(bad) > 0 {
						t.Errorf("%s, %s, %d pixels, %s: %q", name, fragment, width, scheme, bad)
					}
				}
			}
		}
	}
}

// Names of a target can have markup, marks of writing direction, and any length; each view shows them as text.
func TestHostileNamesAreTextInEachViewInABrowser(t *testing.T) {
	const markup, bidi = `<img src=x onerror="window.broken=1">'"&</td>`, "\u202egnp.exe\u2066"
	long := strings.Repeat("ns::", 1<<18) + "method(int)"
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 1e7, Main: app})
	names := nameTable{app.Path: {}}
	for i, name := range []string{markup, bidi, long} {
		names[app.Path][uint64(i)] = fn(name, name, 1)
		stack := b.Intern(at(app, uint64(i)))
		for tid, state := range map[int]string{10 * i: "running", 10*i + 1: "sleeping"} {
			iv := rec.Interval{Stack: stack, PID: 7, TID: 8 + tid, Comm: name, Thread: name, State: state, Samples: 1, Wall: 1e9,
				End: start.UnixNano() + 1e9}
			if state == "running" {
				iv.CPU = 1e9
			} else {
				iv.Wait, iv.WaitsFor, iv.Owner = "futex", "mutex "+name, 8+10*i
			}
			b.Add(iv)
		}
	}
	b.SetWindow(start, start.Add(time.Second))
	p := parsed(t, b, names)
	difference := compared(t, p, p, DiffOptions{})
	defer difference.Close()
	for _, ctx := range []context.Context{browser(t, p), openPage(t, func(w *bytes.Buffer) error {
		return difference.HTML(w)
	})} {
		run(ctx, t, chromedp.EmulateViewport(420, 900))
		for _, fragment := range []string{"view=flame", "view=functions", "view=waits", "view=tracks",
			"view=flame&group=thread",
			"view=flame&search=method", "view=flame&thread=%3Cimg", "view=flame&function=%3Cimg%20src%3Dx&hide=%E2%80%AE"} {
			s := show(ctx, t, fragment)
			for name := range s.Rows {
				if strings.ContainsAny(name, "\u202e\u2066") || len(name) > 1<<13 {
					t.Errorf("%s: a function is called %.40q", fragment, name)
				}
			}
			if got := value[string](ctx, t, `[typeof window.broken, document.images.length,
				/[\u202e\u2066]/.test(document.body.innerText), document.documentElement.scrollWidth].join(" ")`); got !=
				"undefined 0 false 420" {
				t.Errorf("%s: %s", fragment, got)
			}
		}
		run(ctx, t, chromedp.Evaluate[chromedp.Void](`svgOf(800, seenText()); foldedText(); zoom(1); leaveOut(0)`))
	}
}

// Threads that live for a request each are few tracks, also if each has a stack of its own; so are 5,000 that live on.
func TestManyThreadsAreFewTracksInABrowser(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	b := rec.NewBuilder(rec.Meta{Start: start, Period: 1e7, Main: app})
	names := nameTable{app.Path: {}}
	add := func(tid int, thread string, offset uint64, from, to int64) {
		names[app.Path][offset] = fn(fmt.Sprint("f", offset), "", 0)
		b.Add(rec.Interval{Stack: b.Intern(at(app, offset)), PID: 7, TID: tid, Comm: "shop", Thread: thread, State: "running",
			Samples: 1, Wall: to - from, CPU: to - from, End: start.UnixNano() + to})
	}
	for i := range 200 {
		add(100+i, fmt.Sprintf("request-%d", i), uint64(100+i), int64(i)*5e6, int64(i+1)*5e6)
	}
	for i := range 5000 {
		add(1000+i, fmt.Sprintf("pool-%d", i), 1, 0, 1e9)
	}
	add(10, "main", 2, 0, 1e9)
	b.SetWindow(start, start.Add(time.Second))
	ctx := browser(t, parsed(t, b, names))
	if s := show(ctx, t, "view=tracks"); strings.Join(s.Tracks, " ") != "pool-* request-* main (10)" {
		t.Errorf("tracks %q", s.Tracks)
	}
	wants(t, "names", text(ctx, t, "#tlist"), "request-* × 200")
	// One request runs at a time: its track is full, where a part of 200 would not be seen.
	if h := value[float64](ctx, t, `(() => { const c = document.querySelector('[data-thread="request-*"] canvas');
		const x = c.width >> 1, d = c.getContext("2d").getImageData(x, 0, 1, c.height).data; let n = 0;
		for (let y = 0; y < c.height; y++) if (d[4 * y + 3] > 200) n++; return n / c.height; })()`); h < 0.9 {
		t.Errorf("%.2f of the track's height is drawn", h)
	}
}
