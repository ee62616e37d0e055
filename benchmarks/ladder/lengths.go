// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
)

const (
	gapThreshold = 5000
	stopBytes    = 64 << 10
)

var lengthsFreqs = []int{100, 1000}

type gap struct {
	length    float64
	stopped   bool
	preempted bool
}

func (s *subject) gaps(ctx context.Context, window time.Duration) ([]gap, error) {
	first, err := s.words(gapsWord, 1)
	if err == nil {
		err = pause(ctx, window)
	}
	if err != nil {
		return nil, err
	}
	end, err := s.words(gapsWord, 1)
	if err != nil {
		return nil, err
	}
	ring, err := s.words(gapWords, 4*mostGaps)
	if err != nil {
		return nil, err
	}
	return gapsBetween(ring, first[0], end[0]), nil
}

// The first gap is left out: a stop in it counts in the one before.
func gapsBetween(ring []uint64, from, to uint64) []gap {
	n := uint64(len(ring) / 4)
	if to > n/2 {
		from = max(from, to-n/2)
	}
	var gaps []gap
	for i := from + 1; i < to; i++ {
		this, before := ring[4*(i%n):], ring[4*((i-1)%n):]
		gaps = append(gaps, gap{float64(this[1]) / 1e3, this[2] > before[2], this[3] > before[3]})
	}
	return gaps
}

func stopped(g gap) bool     { return g.stopped }
func stoppedOnly(g gap) bool { return g.stopped && !g.preempted }
func notStopped(g gap) bool  { return !g.stopped }

func lengths(gaps []gap, kind func(gap) bool) []float64 {
	var xs []float64
	for _, g := range gaps {
		if kind(g) {
			xs = append(xs, g.length)
		}
	}
	slices.Sort(xs)
	return xs
}

func (s *subject) setThreshold(ns byte, more byte) error {
	_, err := s.shared.WriteAt([]byte{ns, more, 0, 0, 0, 0, 0, 0}, 8*thresholdWord)
	return err
}

type lengthsView struct {
	name     string
	seen     []float64 // µs, by the target, of all rounds
	pure     []float64
	p50s     []float64
	own      []float64
	ownP99   []float64
	ownMax   float64
	ownCount int64
}

func (b *bench) stopLengths(ctx context.Context, freq int, place placement) (views []*lengthsView, others []float64,
	seconds float64, err error) {
	s, err := b.startTarget(ctx, 1, 0)
	if err != nil {
		return nil, nil, 0, err
	}
	defer s.stop()
	if err := place.target(s); err != nil {
		return nil, nil, 0, err
	}
	if err := s.setThreshold(gapThreshold&0xff, gapThreshold>>8); err != nil {
		return nil, nil, 0, err
	}
	tools := []tool{b.prywalkTool(place.before...), b.walkerTool(stopBytes, false, place.before...)}
	views = []*lengthsView{{name: tools[0].name}, {name: tools[1].name}}
	for range b.Rounds {
		for _, i := range rand.Perm(len(tools) + 1) {
			if i == len(tools) {
				var gaps []gap
				gaps, err = s.gaps(ctx, b.Window)
				others = append(others, lengths(gaps, notStopped)...)
				seconds += b.Window.Seconds()
			} else {
				err = b.lengthsRound(ctx, s, freq, tools[i], views[i])
			}
			if err != nil {
				return nil, nil, 0, err
			}
		}
	}
	return views, others, seconds, nil
}

func (b *bench) lengthsRound(ctx context.Context, s *subject, freq int, t tool, v *lengthsView) error {
	before, err := s.tally()
	if err != nil {
		return err
	}
	w, err := t.start(ctx, s, freq)
	if err != nil {
		return err
	}
	var gaps []gap
	if err = s.sampling(ctx, before, b.Warmup); err == nil {
		gaps, err = s.gaps(ctx, b.Window)
	}
	if err != nil {
		w.abandon()
		return fmt.Errorf("%w: %s", err, w.said())
	}
	did, err := w.stop()
	if err != nil {
		return err
	}
	pure := lengths(gaps, stoppedOnly)
	v.seen, v.pure = append(v.seen, lengths(gaps, stopped)...), append(v.pure, pure...)
	v.p50s = append(v.p50s, stats.Quantile(pure, 0.5))
	if f := did.StopUS; f != nil {
		v.own, v.ownP99, v.ownMax = append(v.own, f.P50), append(v.ownP99, f.P99), max(v.ownMax, f.Max)
	}
	v.ownCount += did.Stopped
	return nil
}

func ratios(a, b []float64) []float64 {
	var xs []float64
	for i := range min(len(a), len(b)) {
		if a[i] > 0 && b[i] > 0 {
			xs = append(xs, a[i]/b[i])
		}
	}
	return xs
}

func (b *bench) lengthsPart(ctx context.Context) (string, error) {
	began, was := time.Now(), machine.Load()
	t := markdown.NewTable("Hz", "placed", "tool", "seen by the target: p50, p99, max µs (n)", "without a pre-emption",
		"by the tool",
		"p50 to the C walker's, target without a pre-emption", "tool")
	var background string
	for _, place := range placements() {
		for _, freq := range lengthsFreqs {
			views, others, seconds, err := b.stopLengths(ctx, freq, place)
			if err != nil {
				return "", err
			}
			for _, v := range views {
				row := append([]string{fmt.Sprint(freq), place.name}, v.cells(views[len(views)-1])...)
				t.Row(row...)
				say("lengths: %v", row)
			}
			slices.Sort(others)
			background += fmt.Sprintf(" %s, %d Hz: %.1f a second, p50 %.1f, p99 %.1f, max %.0f µs.", place.name, freq,
				float64(len(others))/seconds, stats.Quantile(others, 0.5), stats.Quantile(others, 0.99), stats.Quantile(others, 1))
		}
	}
	how := fmt.Sprintf("One running thread that reads the clock in a loop and notes gaps above %d µs; those in which it "+
		"was stopped (by its count of voluntary context switches) are stops; where it was pre-empted as well, its "+
		"wait for a processor is part of the gap. The C walker does the same five calls with the same priority, "+
		"jitter and spinning, and asks for as many bytes (%d KB, or what is mapped). %d rounds of each tool in "+
		"random order, windows of %v after %v of warm-up, n stops in all; the tools report whole runs (median "+
		"of the rounds' p50 and p99, greatest max; prywalk leaves out the time queued, the walker does not, and "+
		"prywalk's classes are 1/16 wide). Ratios: median of the rounds, 95 %% interval in brackets (bootstrap). "+
		"Placed freely: by the scheduler; apart: target and tool are each bound to a processor of their own.",
		gapThreshold/1000, stopBytes>>10, b.Rounds, b.Window, b.Warmup)
	return head(began, was, how) + t.String() + "\nOther gaps, in windows without sampling:" + background + "\n", nil
}

func (v *lengthsView) cells(reference *lengthsView) []string {
	cells := []string{
		v.name, quantiles(v.seen), quantiles(v.pure),
		fmt.Sprintf("%.1f, %.1f, %.0f (%d)", stats.Median(v.own), stats.Median(v.ownP99), v.ownMax, v.ownCount),
	}
	if v == reference {
		return append(cells, "", "")
	}
	return append(cells, interval(ratios(v.p50s, reference.p50s), "%.2f"), interval(ratios(v.own, reference.own), "%.2f"))
}

func quantiles(xs []float64) string {
	slices.Sort(xs)
	return fmt.Sprintf("%.1f, %.1f, %.0f (%d)", stats.Quantile(xs, 0.5), stats.Quantile(xs, 0.99), stats.Quantile(xs, 1),
		len(xs))
}
