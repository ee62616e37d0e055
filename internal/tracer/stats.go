// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

// Stats adds the statistics, once, after the tracer has ended or when it hangs.
func (t *Tracer) Stats(s *runstats.Stats) {
	t.outcomeStats(s)
	t.engine.Stats(&s.Observed)
	s.Sampled, s.Claimed = t.EngineSamples, t.Unassigned
	t.counts.stats(&s.Stopped)
	t.runStats(s)
	r, calls := &t.run, &t.counts.callEffects
	s.Calls = runstats.Calls{
		Restarted: t.counts.restarted, Broken: r.brokenCalls, ReportedTwice: r.repeatedCalls,
		BrokenCalls: byCall(&calls.broken, r.brokenCalls), ReportedTwiceCalls: byCall(&calls.reported, r.repeatedCalls),
	}
	s.Requested = runstats.Requested{
		FreqAsked: t.opts.Freq, MaxOverhead: t.opts.MaxOverhead, MaxPause: runstats.Nanos(t.opts.MaxPause),
		Subset: t.opts.Subset,
	}
	t.pace.stats(s)
	t.gaps.stats(s)
}

func (c *stopCounts) stats(s *runstats.Stopped) {
	s.LateStops, s.AwaitedLocks = c.lateStops, c.awaitedLocks
	if c.lengths.N == 0 {
		return
	}
	n := c.lengths.N
	s.StopTime = runstats.Quantiles[runstats.Nanos]{
		N: n, P50: runstats.Nanos(c.lengths.Quantile(0.5)), P99: runstats.Nanos(c.lengths.Quantile(0.99)),
		Max: runstats.Nanos(c.lengths.Max),
	}
	s.CopiedBytes = runstats.Quantiles[int64]{
		N: n, P50: c.copies.Quantile(0.5), P99: c.copies.Quantile(0.99), Max: c.copies.Max,
	}
	s.StopTimes = c.lengths.Buckets()
	s.LongStops = c.longStops()
	s.LongestStop = c.longest
}

func (t *Tracer) outcomeStats(s *runstats.Stats) {
	c := t.counts
	s.Observations = runstats.Observations{
		Ticks: t.Tick.Number, Attempted: c.attempted, Stops: c.byStop,
		PassiveReads: c.byPassiveRead, Unchanged: c.unchanged,
	}
	s.Unobserved = runstats.Unobserved{
		Queued: c.queued, Inferred: c.inferred, Unseen: c.ranInBackoff,
		Failed: map[string]int64{},
	}
	for reason, failed := range c.failed {
		if failed != 0 {
			s.Failed[refusal.Reason(reason).Word()] += failed
		}
	}
	s.ThreadsMax = int64(t.listings.threadsMax)
	s.Backlog = t.backlog.maxBytes
	s.ShortRuns = c.shortRuns.n
	s.ShortRunsCPU = float64(c.shortRuns.cpu) / 1e9
}

func (t *Tracer) runStats(s *runstats.Stats) {
	ran := t.run.length
	if begun := t.control.FirstTick(); ran == 0 && begun != 0 {
		ran = procmem.Now() - begun
	}
	s.Scheduling = t.run.scheduling
	s.PriorityLowered = t.run.priorityLosses
	s.Seconds = seconds(ran)
	if s.Seconds > 0 {
		s.Freq = float64(t.Tick.Number) / s.Seconds
	}
}

func (t *Tracer) publish() {
	c := t.counts
	p := Progress{
		Ticks: t.Tick.Number, MissedTicks: t.pace.ticks.Missed, Threads: t.listings.threadCount,
		Observations: c.samples() + c.unchanged,
		Rate:         1e9 / float64(t.pace.period()),
		Stops:        c.byStop, WithheldTicks: t.pace.budget.Withheld,
		Denied: c.failed[refusal.Denied], Traced: c.failed[refusal.Traced],
	}
	for _, failed := range c.failed {
		p.Failed += failed
	}
	t.control.publish(&p)
}

func (c *stopCounts) longStops() runstats.Causes {
	causes := runstats.Causes{}
	for cause, l := range c.longStopsBy {
		if l.N > 0 {
			causes[ptrace.Cause(cause).String()] = l
		}
	}
	return causes
}
