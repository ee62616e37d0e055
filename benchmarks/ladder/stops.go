// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
)

const (
	stopsFreq    = 100
	stopsRunning = 2
)

type stopsRound struct {
	bare, steady span
	whole        span
	did          *outcome
}

func (b *bench) stopsRound(ctx context.Context, s *subject, freq int) (r stopsRound, err error) {
	bareFirst := rand.IntN(2) == 0
	if bareFirst {
		if r.bare, err = s.spanOf(ctx, b.Window); err != nil {
			return r, err
		}
	}
	if err = b.stopsWith(ctx, s, freq, &r); err != nil || bareFirst {
		return r, err
	}
	r.bare, err = s.spanOf(ctx, b.Window)
	return r, err
}

func (b *bench) stopsWith(ctx context.Context, s *subject, freq int, r *stopsRound) error {
	before, err := s.tally()
	if err != nil {
		return err
	}
	w, err := b.prywalkTool().start(ctx, s, freq)
	if err != nil {
		return err
	}
	if err = s.sampling(ctx, before, b.Warmup); err == nil {
		r.steady, err = s.spanOf(ctx, b.Window)
	}
	if err != nil {
		w.abandon()
		return fmt.Errorf("%w: %s", err, w.said())
	}
	if r.did, err = w.stop(); err != nil {
		return err
	}
	after, err := s.tally()
	r.whole = after.since(before)
	return err
}

type stopsRow struct {
	threads, running int
	rounds           []stopsRound
}

func (b *bench) stops(ctx context.Context, threads, running, freq, rounds int) (*stopsRow, error) {
	s, err := b.startTarget(ctx, running, threads-running)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	row := &stopsRow{threads: threads, running: running}
	for range rounds {
		r, err := b.stopsRound(ctx, s, freq)
		if err != nil {
			return nil, err
		}
		row.rounds = append(row.rounds, r)
	}
	return row, nil
}

func (r *stopsRow) each(f func(*stopsRound) float64) []float64 {
	var xs []float64
	for i := range r.rounds {
		xs = append(xs, f(&r.rounds[i]))
	}
	return xs
}

func (r *stopsRound) stopsPerS() float64 { return float64(r.did.Stopped) / r.did.DurationS }

// stoppedPerS is the kernel's count of voluntary switches, less those without sampling.
func (r *stopsRound) stoppedPerS() float64 {
	return r.steady.perSecond(r.steady.runners.Voluntary) - r.bare.perSecond(r.bare.runners.Voluntary)
}

func (r *stopsRound) preemptedPerS() float64 {
	return r.steady.perSecond(r.steady.runners.Preempted) - r.bare.perSecond(r.bare.runners.Preempted)
}

func (r *stopsRound) uncounted() int64 { return r.whole.runners.Voluntary - r.did.Stopped }

func (r *stopsRound) sleepersSwitched() int64 { return r.whole.sleepers.sum() }

func (b *bench) stopsPart(ctx context.Context) (string, error) {
	began, was := time.Now(), machine.Load()
	t := markdown.NewTable("threads", "stops/s of running threads, by prywalk", "by the kernel", "most allowed",
		"pre-emptions/s more",
		"stops that only the kernel counted", "looks at sleepers", "switches of sleepers")
	for _, n := range b.Threads {
		row, err := b.stops(ctx, n, stopsRunning, stopsFreq, b.Rounds)
		if err != nil {
			return "", err
		}
		t.Row(row.cells()...)
		say("stops: %d threads: %s/s", n, spread(row.each((*stopsRound).stoppedPerS), "%.1f"))
	}
	how := fmt.Sprintf("%d Hz, %d running threads among those of the first column; n = %d pairs of windows of %v with "+
		"and without "+
		"sampling, in random order, after %v of warm-up; median, least and most in brackets. The last three columns are "+
		"sums over "+
		"whole runs of prywalk, start and end included. A running thread of this target never blocks: each voluntary "+
		"context switch is "+
		"a stop; the others are pre-emptions, here by a sampler that needs a processor where all are busy.",
		stopsFreq, stopsRunning, b.Rounds, b.Window, b.Warmup)
	return head(began, was, how) + t.String(), nil
}

func (r *stopsRow) cells() []string {
	var only, switched, looks int64
	for i := range r.rounds {
		x := &r.rounds[i]
		only += x.uncounted()
		switched += x.sleepersSwitched()
		looks += x.did.ReadPassively + x.did.Unchanged
	}
	return []string{
		fmt.Sprint(r.threads), spread(r.each((*stopsRound).stopsPerS), "%.1f"), spread(r.each((*stopsRound).stoppedPerS),
			"%.1f"),
		fmt.Sprintf("%.0f", 1.05*stopsFreq*float64(r.running)), spread(r.each((*stopsRound).preemptedPerS), "%.1f"),
		fmt.Sprintf("%+d", only), fmt.Sprint(looks), fmt.Sprint(switched),
	}
}
