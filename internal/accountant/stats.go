// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/look"
	"prywalk/internal/runstats"
)

// totals are what the accountant adds up.
type totals struct {
	stacks   int64
	stops    [frames.NumStopReasons]int64
	whole    [look.FromCore + 1]int64 // stacks that are complete, by how the thread was looked at
	samples  int64
	complete int64 // samples whose stack is complete
	profiled int64 // CPU booked, ns
	// incomplete is the CPU booked under incomplete stacks, by why their walks ended, ns.
	incomplete   [frames.NumStopReasons]int64
	unobserved   int64 // CPU booked under [ran between ticks] and [not observed], ns
	exitedUnseen int64 // CPU booked under [exited unseen], ns
	shortLived   int64 // CPU booked under [short-lived children], ns
	ofProgram    int64 // the part of it of which ticks tell the program, ns
}

// book adds a span.
func (t *totals) book(s *attribute.Span) {
	t.samples += s.Samples
	if s.Stop.Complete() {
		t.complete += s.Samples
	}
	t.profiled += s.CPU
	switch s.Leaf {
	case "", attribute.RanBetweenTicks, attribute.BlockedBetweenTicks: // it has a stack
		t.incomplete[s.Stop] += s.CPU
	}
	switch s.Leaf {
	case attribute.RanBetweenTicks, attribute.NotObserved:
		t.unobserved += s.CPU
	case attribute.ExitedUnseen:
		t.exitedUnseen += s.CPU
	case attribute.ShortLivedChildren:
		if t.shortLived += s.CPU; s.Program != "" {
			t.ofProgram += s.CPU
		}
	}
}

// stack counts a stack by how its walk ended and how the thread was looked at.
func (t *totals) stack(stop frames.StopReason, how look.How) {
	t.stacks++
	t.stops[stop]++
	if stop.Complete() {
		t.whole[how]++
	}
}

// maxRates bounds the number of threads whose rates are kept.
const maxRates = 10_000

// rates are how often threads were looked at.
type rates struct {
	list    []runstats.ThreadRate
	slowest float64 // lowest rate of looks a second that a thread got
}

// add notes a thread's rate, if it was there for a second.
func (r *rates) add(t runstats.ThreadRate) {
	if t.Seconds < 1 || t.Looks == 0 {
		return
	}
	t.Rate = float64(t.Looks-1) / t.Seconds
	if r.slowest == 0 || t.Rate < r.slowest {
		r.slowest = t.Rate
	}
	if len(r.list) < maxRates {
		r.list = append(r.list, t)
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Stats fills in what was walked and booked so far.
func (a *Accountant) Stats(s *runstats.Stats) {
	t, times := &a.totals, a.times.Totals()
	stops := t.stops
	stops[frames.StopRoot] = 0
	s.Incomplete = named(stops[:], func(i int) string { return frames.StopReason(i).String() })
	s.Whole = runstats.WholeByLook{Frozen: t.whole[look.ByFreeze], Peeked: t.whole[look.ByPeek]}
	s.FramesByMethod = named(a.unwind.methods[:], func(i int) string { return frames.Method(i).String() })
	s.PerThread = runstats.PerThread{Rates: a.rates.list, SlowestThread: a.rates.slowest}
	s.Samples, s.Complete, s.Stacks = t.samples, t.complete, t.stacks
	s.IncompleteCPU = map[string]float64{}
	for stop, ns := range t.incomplete {
		if reason := frames.StopReason(stop); ns > 0 && reason != frames.StopNone && !reason.Complete() {
			s.IncompleteCPU[reason.String()] = seconds(ns)
		}
	}
	s.TargetCPU, s.ProfiledCPU = seconds(times.Target), seconds(t.profiled)
	s.ExitedUnseenCPU, s.ShortLivedCPU = seconds(t.exitedUnseen), seconds(t.shortLived)
	s.UnobservedCPU = seconds(t.unobserved) + s.ExitedUnseenCPU + s.ShortLivedCPU
	s.EstimatedCPU, s.ProgramCPU = seconds(times.Estimated), seconds(t.ofProgram)
}

// named makes a map of the counts that are not zero.
func named(counts []int64, name func(int) string) map[string]int64 {
	m := map[string]int64{}
	for i, n := range counts {
		if n != 0 {
			m[name(i)] += n
		}
	}
	return m
}
