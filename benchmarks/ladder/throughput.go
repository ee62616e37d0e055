// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
)

const walkerBytes = 16 << 10

type throughputRow struct {
	threads, running, freq int
	least                  float64
}

func throughputRows() []throughputRow {
	var rows []throughputRow
	for _, busy := range []bool{false, true} {
		for _, threads := range []int{10, 1000} {
			rows = append(rows, throughputRow{threads, runningOf(busy), 100, aim(busy, 100)},
				throughputRow{threads, runningOf(busy), 1000, aim(busy, 1000)})
		}
	}
	return rows
}

func runningOf(busy bool) int {
	if busy {
		return runtime.NumCPU()
	}
	return max(1, runtime.NumCPU()-1)
}

func aim(busy bool, freq int) float64 {
	switch {
	case busy && freq == 100:
		return 0.985
	case busy:
		return 0.93
	case freq == 100:
		return 0.99
	}
	return 0.97
}

func (b *bench) throughput(ctx context.Context, row throughputRow, tools []tool) (all [][]float64, got [][]float64,
	err error) {
	s, err := b.startTarget(ctx, row.running, row.threads-row.running)
	if err != nil {
		return nil, nil, err
	}
	defer s.stop()
	all, got = make([][]float64, len(tools)), make([][]float64, len(tools))
	for range b.Rounds {
		rates := make([]float64, len(tools)+1)
		for _, i := range rand.Perm(len(rates)) {
			if i == len(tools) {
				rates[i], err = s.rate(ctx, b.Window)
			} else {
				var did *outcome
				rates[i], did, err = b.sampledRate(ctx, s, row.freq, tools[i])
				if err == nil {
					got[i] = append(got[i], float64(did.Ticks)/did.DurationS)
				}
			}
			if err != nil {
				return nil, nil, err
			}
		}
		for i := range tools {
			all[i] = append(all[i], rates[i]/rates[len(tools)])
		}
	}
	return all, got, nil
}

func (b *bench) sampledRate(ctx context.Context, s *subject, freq int, t tool) (rate float64, did *outcome, err error) {
	before, err := s.tally()
	if err != nil {
		return 0, nil, err
	}
	w, err := t.start(ctx, s, freq)
	if err != nil {
		return 0, nil, err
	}
	if err = s.sampling(ctx, before, b.Warmup); err == nil {
		rate, err = s.rate(ctx, b.Window)
	}
	if err != nil {
		w.abandon()
		return 0, nil, fmt.Errorf("%w: %s", err, w.said())
	}
	did, err = w.stop()
	return rate, did, err
}

func (b *bench) throughputPart(ctx context.Context) (string, error) {
	began, was := time.Now(), machine.Load()
	t := markdown.NewTable("threads", "running", "Hz", "prywalk: with / without", "aim", "ticks/s got",
		"C walker: with / without", "ticks/s got")
	tools := []tool{b.prywalkTool(), b.walkerTool(walkerBytes, true)}
	for _, row := range throughputRows() {
		all, got, err := b.throughput(ctx, row, tools)
		if err != nil {
			return "", err
		}
		t.Row(fmt.Sprint(row.threads), fmt.Sprint(row.running), fmt.Sprint(row.freq), interval(all[0], "%.4f"),
			fmt.Sprint(row.least),
			fmt.Sprintf("%.1f", stats.Median(got[0])), interval(all[1], "%.4f"),
			fmt.Sprintf("%.1f", stats.Median(got[1])))
		say("throughput: %+v: prywalk %s, C walker %s", row, interval(all[0], "%.4f"), interval(all[1], "%.4f"))
	}
	how := fmt.Sprintf("n = %d rounds of neighbouring windows of %v, one without sampling and one with each tool, in "+
		"random order; a tool is "+
		"a process of its own, started for its window, which begins after %v of warm-up. Median of the rounds' ratios, 95 "+
		"%% interval in "+
		"brackets (bootstrap). The C walker stops all threads one by one and copies %d KB of each.",
		b.Rounds, b.Window, b.Warmup, walkerBytes>>10)
	return head(began, was, how) + t.String(), nil
}
