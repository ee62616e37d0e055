// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"

	"prywalk/benchmarks/bench"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/stats"
)

// Beside compares prywalk's row with a peer's on the same target at the same frequency.
type Beside struct {
	Own, Peer *bench.Row
	// Rate is the difference of the ratios, prywalk's less the peer's.
	Rate stats.Difference
	// Equal is at equal delivered stacks: the peer's loss for 1,000 stacks per second less prywalk's, as a fraction of
	// the throughput without a tool, if the loss per stack is the same at any rate. Beyond 1 the peer cannot deliver as
	// many.
	Equal stats.Difference
}

func besides(rows []bench.Row) (out []Beside) {
	for i := range rows {
		peer := &rows[i]
		if own := prywalkRowFor(rows, i); own != nil && peer.Peer != "" && len(peer.Ratios) > 0 {
			b := Beside{Own: own, Peer: peer}
			b.compare()
			out = append(out, b)
		}
	}
	return out
}

// prywalkRowFor is the last row of that target before a peer's, else the first after it.
func prywalkRowFor(rows []bench.Row, i int) *bench.Row {
	match := func(r *bench.Row) bool {
		p := &rows[i]
		return r.Peer == "" && len(r.Ratios) > 0 && r.WorkloadName() == p.WorkloadName() && r.Threads == p.Threads &&
			r.Running == p.Running &&
			r.Depth == p.Depth && r.Freq == p.Freq
	}
	for j := i - 1; j >= 0; j-- {
		if match(&rows[j]) {
			return &rows[j]
		}
	}
	for j := i + 1; j < len(rows); j++ {
		if match(&rows[j]) {
			return &rows[j]
		}
	}
	return nil
}

// compare sets Rate and Equal. The numbers of stacks count as known: they vary much less than the ratios.
func (b *Beside) compare() {
	own, peer := b.Own.SamplesPerS/1000, b.Peer.SamplesPerS/1000
	rate := func(a, p float64) float64 { return a - p }
	equal := func(a, p float64) float64 { return (1-p)/peer - (1-a)/own }
	b.Rate = stats.CompareMedians(b.Own.Ratios, b.Peer.Ratios, rate)
	if own > 0 && peer > 0 {
		b.Equal = stats.CompareMedians(b.Own.Ratios, b.Peer.Ratios, equal)
	}
}

func side(d *stats.Difference) string {
	switch {
	case d.Low > 0:
		return "ahead"
	case d.High < 0:
		return "behind"
	}
	return "level"
}

func (b *Beside) completer() string {
	switch own, peer := b.Own.Complete, b.Peer.Complete; {
	case own == nil || peer == nil:
		return "not told"
	case *own > *peer+0.001:
		return "more"
	case *own < *peer-0.001:
		return "fewer"
	}
	return "as many"
}

func cpu(r *bench.Row) *float64 {
	if r.CPUSelf == nil || r.CPUAfter == nil {
		return nil
	}
	x := *r.CPUSelf + *r.CPUAfter
	return &x
}

func beside(r *bench.Result) *markdown.Table {
	t := markdown.NewTable("workload", "peer", "threads", "running", "Hz", "prywalk's ratio less the peer's",
		"95 % interval", "prywalk is", "loss for 1,000 stacks a second: the peer's less prywalk's", "95 % interval",
		"prywalk is", "samples/s: prywalk, peer", "complete: prywalk, peer", "prywalk has", "CPU in all: prywalk, peer")
	names, byName := r.ByWorkload()
	for _, name := range names {
		for _, c := range besides(byName[name]) {
			t.Row(slices.Concat([]string{name, c.Peer.Peer, target(c.Own), fmt.Sprint(c.Own.Running),
				fmt.Sprintf("%.0f", c.Own.Freq)}, cells(&c.Rate), cells(&c.Equal), []string{
				fmt.Sprintf("%.0f, %.0f", c.Own.SamplesPerS, c.Peer.SamplesPerS),
				bench.Figure(c.Own.Complete, 100, "%.1f %%") + ", " + bench.Figure(c.Peer.Complete, 100, "%.1f %%"),
				c.completer(),
				bench.Figure(cpu(c.Own), 100, "%.2f %%") + ", " + bench.Figure(cpu(c.Peer), 100, "%.2f %%")})...)
		}
	}
	return t
}

func cells(d *stats.Difference) []string {
	return []string{fmt.Sprintf("%+.4f", d.Middle), fmt.Sprintf("%+.4f to %+.4f", d.Low, d.High), side(d)}
}

func summary(w io.Writer, r *bench.Result) {
	names, byName := r.ByWorkload()
	for _, name := range names {
		for _, b := range besides(byName[name]) {
			fmt.Fprintf(w, "%s, %s threads, %d running, %.0f Hz: prywalk and %s: %s, %s; loss for 1,000 stacks a second %s, "+
				"%s; complete stacks: %s\n", name, target(b.Own), b.Own.Running, b.Own.Freq, b.Peer.Peer, side(&b.Rate),
				b.Rate.Text(), side(&b.Equal), b.Equal.Text(), b.completer())
		}
	}
}
