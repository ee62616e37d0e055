// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
)

var costFreqs = []int{100, 1000}

const costRunning = 1

type costRound struct {
	share, tracer        float64 // of one processor, in the steady window: the process, and its tracing thread
	starting, ending     float64 // CPU time of the start beyond the steady share, and of the end, s
	endTook              float64 // from the signal to the exit, s
	freq, calls, stopped float64 // ticks per second; system calls per tick; −1: unknown
}

type costRow []costRound

func (r costRow) each(f func(*costRound) float64) []float64 {
	var xs []float64
	for i := range r {
		xs = append(xs, f(&r[i]))
	}
	return xs
}

// cost also counts system calls if counted, which takes time, so that times are not used.
func (b *bench) cost(ctx context.Context, s *subject, freq int, counted bool) (r costRound, err error) {
	before, err := s.tally()
	if err != nil {
		return r, err
	}
	w, err := b.prywalkTool().start(ctx, s, freq)
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err = s.sampling(ctx, before, b.Warmup); err == nil {
		err = b.steady(ctx, w, began, counted, &r)
	}
	if err != nil {
		w.abandon()
		return r, fmt.Errorf("%w: %s", err, w.said())
	}
	did, err := w.stop()
	if err != nil {
		return r, err
	}
	r.ending, r.endTook = did.EndingCPU, did.Ending
	r.freq, r.stopped = float64(did.Ticks)/did.DurationS, float64(did.Stopped)/did.DurationS
	if r.calls > 0 {
		r.calls /= r.freq
	}
	return r, nil
}

func (b *bench) steady(ctx context.Context, w *watcher, began time.Time, counted bool, r *costRound) error {
	pid := w.cmd.Process.Pid
	tracer := tracerOf(pid)
	at, thread := time.Now(), threadCPU(pid, tracer)
	warm, err := cpuOf(pid)
	if err != nil {
		return err
	}
	r.calls = -1
	if counted {
		r.calls, err = callsPerSecond(ctx, pid, b.Window)
	} else {
		err = pause(ctx, b.Window)
	}
	if err != nil {
		return err
	}
	length := time.Since(at).Seconds()
	end, err := cpuOf(pid)
	r.share, r.tracer = (end-warm)/length, (threadCPU(pid, tracer)-thread)/length
	r.starting = max(0, warm-r.share*at.Sub(began).Seconds())
	return err
}

func (b *bench) costPart(ctx context.Context) (string, error) {
	began, was := time.Now(), machine.Load()
	t := markdown.NewTable("sleepers", "Hz", "of one processor, %", "of it the tracing thread, %", "system calls a tick",
		"of a whole run by the kernel, by prywalk", "ticks/s got",
		"start, s of processor time", "end, s", "end took, s")
	for _, freq := range costFreqs {
		for _, n := range b.Sleepers {
			row, calls, err := b.costRow(ctx, n, freq)
			if err != nil {
				return "", err
			}
			t.Row(row.cells(n, freq, calls)...)
			say("cost: %d sleepers at %d Hz: %s %%, %s calls a tick", n, freq,
				spread(percents(row.each(func(r *costRound) float64 { return r.share })), "%.2f"), calls.tick)
		}
	}
	how := fmt.Sprintf("`prywalk record -p`, a process of its own; %d running thread besides the sleepers; windows of "+
		"%v after %v of warm-up, "+
		"n = %d runs; median, least and most in brackets. Processor time is that of the whole process, by the kernel's "+
		"clock of it. System "+
		"calls are those that the kernel saw of the whole process in the window of one further run (`perf stat -e "+
		"raw_syscalls:sys_enter`), and in "+
		"another run from start to end, beside prywalk's own count, in which the Go runtime's are missing. Start: the "+
		"processor time up to the window, less as much as the steady share of it; end: that after the signal to end.",
		costRunning, b.Window, b.Warmup, b.Rounds)
	return head(began, was, how) + t.String(), nil
}

func (b *bench) costRow(ctx context.Context, sleepers, freq int) (row costRow, calls callCounts, err error) {
	s, err := b.startTarget(ctx, costRunning, sleepers)
	if err != nil {
		return nil, calls, err
	}
	defer s.stop()
	for range b.Rounds {
		r, err := b.cost(ctx, s, freq, false)
		if err != nil {
			return nil, calls, err
		}
		row = append(row, r)
	}
	if !canCount(ctx) {
		return row, callCounts{"not counted", "not counted"}, nil
	}
	r, err := b.cost(ctx, s, freq, true)
	if err != nil {
		return nil, calls, err
	}
	kernel, own, err := b.callsOfARun(ctx, s, freq)
	return row, callCounts{fmt.Sprintf("%.1f", r.calls), fmt.Sprintf("%d, %d", kernel, own)}, err
}

type callCounts struct{ tick, run string }

func (r costRow) cells(sleepers, freq int, calls callCounts) []string {
	median := func(format string, f func(*costRound) float64) string {
		return fmt.Sprintf(format, stats.Median(r.each(f)))
	}
	return []string{
		fmt.Sprint(sleepers), fmt.Sprint(freq),
		spread(percents(r.each(func(r *costRound) float64 { return r.share })), "%.2f"),
		median("%.2f", func(r *costRound) float64 { return 100 * r.tracer }), calls.tick, calls.run,
		median("%.1f", func(r *costRound) float64 { return r.freq }),
		median("%.3f", func(r *costRound) float64 { return r.starting }),
		median("%.3f", func(r *costRound) float64 { return r.ending }),
		median("%.2f", func(r *costRound) float64 { return r.endTook }),
	}
}
