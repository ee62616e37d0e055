// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math"
	"slices"
	"time"

	"prywalk/benchmarks/recordings"
	"prywalk/benchmarks/stats"
	"prywalk/internal/testtargets"
)

type timing struct {
	What  string `json:"what"`
	Error string `json:"error,omitempty"`
	// Seconds are ascending.
	Seconds []float64 `json:"seconds"`
	// Least number of samples and of stored intervals, greatest number of places to name.
	Samples   int64 `json:"samples,omitempty"`
	Intervals int   `json:"intervals,omitempty"`
	Locations int   `json:"locations,omitempty"`
}

func (t *timing) quantile(q float64) float64 { return stats.Quantile(t.Seconds, q) }

func (b *bench) startup(ctx context.Context) []timing {
	var all []timing
	java := timing{What: "JVM"}
	if t, err := testtargets.Start("java", testtargets.Options{Limit: measureLimit}); err != nil {
		java.Error = err.Error()
	} else {
		b.startups(ctx, &java, t.PID)
		t.Stop()
	}
	all = append(all, java)
	browser, renderer := timing{What: "Chromium, browser process"}, timing{What: "Chromium, renderer"}
	if c, err := startChromium(ctx, b.dir); err != nil {
		browser.Error, renderer.Error = err.Error(), err.Error()
	} else {
		b.startups(ctx, &browser, c.pid)
		b.startups(ctx, &renderer, c.renderer)
		c.stop()
	}
	return append(all, browser, renderer)
}

func (b *bench) startups(ctx context.Context, t *timing, pid int) {
	for range b.Runs {
		r, err := b.record(ctx, []int{pid}, "-d", "300ms")
		if err != nil {
			t.Error = err.Error()
			return
		}
		first := firstLook(r)
		t.Seconds = append(t.Seconds, first.Sub(r.began).Seconds())
		r.remove()
	}
	slices.Sort(t.Seconds)
}

func firstLook(r *recording) time.Time {
	first := int64(math.MaxInt64)
	for _, s := range r.Sample {
		if end := s.NumLabel["end_timestamp_ns"]; len(end) > 0 {
			first = min(first, end[0]-s.Value[recordings.WallColumn])
		}
	}
	return time.Unix(0, first)
}
