// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"prywalk/benchmarks/stats"
)

const rounds = 20

// figures are of a page that is opened once, in ms.
type figures struct {
	paint, load                float64
	selectCPU, zoomCPU, drawMS float64
	waitsCPU                   float64 // of a selection at the waits
	selections                 []float64
	frames                     float64 // a second
}

// cells are medians of all times that the page was opened, and of all selections.
func cells(opened []figures) (cells []string) {
	var selections []float64
	for _, f := range opened {
		selections = append(selections, f.selections...)
	}
	slices.Sort(selections)
	median := func(of func(figures) float64) float64 {
		var all []float64
		for _, f := range opened {
			all = append(all, of(f))
		}
		return stats.Median(all)
	}
	for _, v := range []float64{median(func(f figures) float64 { return f.paint }),
		median(func(f figures) float64 { return f.load }), median(func(f figures) float64 { return f.selectCPU }),
		stats.Median(selections), selections[len(selections)-1]} {
		cells = append(cells, fmt.Sprintf("%.0f", v))
	}
	return append(cells, fmt.Sprintf("%.1f", median(func(f figures) float64 { return f.zoomCPU })),
		fmt.Sprintf("%.1f", median(func(f figures) float64 { return f.drawMS })),
		fmt.Sprintf("%.0f", median(func(f figures) float64 { return f.frames })),
		fmt.Sprintf("%.0f", median(func(f figures) float64 { return f.waitsCPU })))
}

// Scripts of the page's own functions. Reading a height makes the browser lay out what has changed.
const (
	// A tenth of the time, at another place each round.
	selections = `(() => { const took = []; const length = (times.to - times.from) / 10;
		for (let i = 0; i < %d; i++) { const from = times.from + length * ((i * 7) %% 90) / 10, before = performance.now();
			selectTime([from, from + length]); document.body.offsetHeight; took.push(performance.now() - before); }
		return took; })()`
	zooms = `(() => { selectTime(null); const nodes = graph.rects.map((r) => r.n);
		for (let i = 0; i < %d; i++) { zoom(nodes[(i * 37) %% nodes.length]); document.body.offsetHeight; } zoom(0); })()`
	draws = `(() => { choice.folded = false; for (let i = 0; i < %d; i++) draw(); })()`
	// The graph is scrolled and the boxes below the pointer change in each frame.
	frames = `new Promise((done) => { let n = 0, begun; const box = graph.canvas.getBoundingClientRect();
		const step = (now) => { begun ??= now; if (n++ === 60) return done(60e3 / (now - begun));
			graph.view.scrollTop = (n % 20) * 4;
			graph.canvas.dispatchEvent(new MouseEvent("mousemove",
				{clientX: box.left + n * 20, clientY: box.top + 60 + n % 90, bubbles: true}));
			requestAnimationFrame(step); }; requestAnimationFrame(step); })`
)

// inBrowser opens the page; a failed script is an error.
func inBrowser(ctx context.Context, page string) (f figures, err error) {
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(*browser), chromedp.NoSandbox,
		chromedp.WindowSize(1600, 900), chromedp.WSURLReadTimeout(*limit))
	ctx, stop := chromedp.NewExecAllocator(ctx, opts...)
	defer stop()
	ctx, stop = chromedp.NewContext(ctx)
	defer stop()
	var failed error
	if err := chromedp.Listen(ctx, func(e any) {
		if e, ok := e.(*runtime.EventExceptionThrown); ok {
			failed = fmt.Errorf("the page's script failed: %+v", e.ExceptionDetails)
		}
	}); err != nil {
		return f, err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		return f, err
	}
	if _, err := chromedp.Call(ctx, performance.Enable,
		performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		return f, err
	}
	if err := f.measure(ctx, page); err != nil {
		return f, err
	}
	return f, failed
}

func (f *figures) measure(ctx context.Context, page string) (err error) {
	if f.load, err = spent(ctx, chromedp.Navigate("file://"+page+"#view=flame")); err != nil {
		return err
	}
	// Chromium reports the first paint when the frame is shown, after the end of loading.
	f.paint, err = chromedp.Run(ctx, chromedp.Evaluate[float64](`new Promise((done) => new PerformanceObserver((list) => {
		for (const e of list.getEntriesByName("first-contentful-paint")) done(e.startTime); })
		.observe({type: "paint", buffered: true}))`, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	f.selectCPU, err = spent(ctx, func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		f.selections, err = chromedp.Evaluate[[]float64](fmt.Sprintf(selections, rounds))(ctx, t)
		return v, err
	})
	if err != nil {
		return err
	}
	if f.zoomCPU, err = spent(ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(zooms, rounds))); err != nil {
		return err
	}
	if f.drawMS, err = spent(ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(draws, rounds))); err != nil {
		return err
	}
	f.selectCPU, f.zoomCPU, f.drawMS = f.selectCPU/rounds, f.zoomCPU/rounds, f.drawMS/rounds
	f.frames, err = chromedp.Run(ctx, chromedp.Evaluate[float64](frames, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	f.waitsCPU, err = spent(ctx, chromedp.Evaluate[chromedp.Void](`showView("waits"); `+fmt.Sprintf(selections, rounds)))
	f.waitsCPU /= rounds
	return err
}

// spent is the CPU time of the page's thread during an action, in ms.
func spent(ctx context.Context, action chromedp.Action[chromedp.Void]) (float64, error) {
	before, err := tasks(ctx)
	if err != nil {
		return 0, err
	}
	if err := chromedp.Do(ctx, action); err != nil {
		return 0, err
	}
	after, err := tasks(ctx)
	return after - before, err
}

func tasks(ctx context.Context) (float64, error) {
	r, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	for _, m := range r.Metrics {
		if m.Name == "TaskDuration" {
			return 1000 * m.Value, nil
		}
	}
	return 0, fmt.Errorf("the browser has no TaskDuration")
}
