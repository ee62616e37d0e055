// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

// Stats adds the statistics. It is called once, after the tracer has ended or when it hangs.
func (t *Tracer) Stats(s *runstats.Stats) {
	t.outcomeStats(s)
	t.engine.Stats(&s.Observed)
	s.Sampled, s.Claimed = t.Sampled, t.Unassigned
	t.counts.stats(&s.Stopped)
	t.runStats(s)
	s.OwnQuota = runstats.OwnQuota(t.quota.Stats())
	r, calls := &t.run, &t.counts.callEffects
	s.Calls = runstats.Calls{
		Restarted: t.counts.restarted, Broken: r.brokenCalls, ReportedTwice: r.repeatedCalls,
		BrokenCalls: byCall(&calls.broken, r.brokenCalls), ReportedTwiceCalls: byCall(&calls.reported, r.repeatedCalls),
	}
	s.Requested = runstats.Requested{
		FreqAsked: t.opts.Freq, MaxOverhead: t.opts.MaxOverhead, MaxPause: runstats.Nanos(t.opts.MaxPause),
		Subset: t.opts.Subset, NotDrawn: t.subset.NotDrawn,
	}
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
	n := &t.counts
	s.Observations = runstats.Observations{
		Ticks: n.ticks, MissedTicks: t.ticks.Missed, Attempted: n.attempted, Stops: n.byStop, PassiveReads: n.byPassiveRead,
		Reused: n.reused,
	}
	s.Unobserved = runstats.Unobserved{
		Queued: n.queued, Inferred: n.inferred, Unseen: n.unseen, TicksWithheld: t.budget.Withheld,
		TicksLeftOut: t.Skipper.Skipped,
		Failed:       map[string]int64{},
	}
	for reason, failed := range n.failed {
		if failed != 0 {
			s.Failed[refusal.Reason(reason).Word()] += failed
		}
	}
	s.ThreadsMax = n.threadsMax
	s.Backlog = n.maxBacklog
	s.ShortRuns = n.shortRuns.n
	s.ShortRunsCPU = float64(n.shortRuns.cpu) / 1e9
}

func (t *Tracer) runStats(s *runstats.Stats) {
	w, ran := &t.gaps, t.run.cpuTime
	if begun := t.control.FirstTick(); ran == 0 && begun != 0 {
		ran = procmem.Now() - begun
	}
	s.Lost = t.budget.Lost() / 1e9
	s.Scheduling = t.run.scheduling
	s.PriorityLowered = t.run.priorityLosses
	s.ObservationGaps = runstats.ObservationGaps{
		NotObserved: seconds(w.Total), LongestGap: seconds(w.Longest), Gaps: w.Gaps, Suspended: seconds(w.Suspended),
	}
	s.Seconds = seconds(ran)
	if s.Seconds > 0 {
		s.Freq = float64(t.counts.ticks) / s.Seconds
	}
}

func (t *Tracer) publish() {
	n := &t.counts
	p := Progress{
		Ticks: n.ticks, MissedTicks: t.ticks.Missed, Threads: t.tickState.threads,
		Observations: n.byStop + n.byPassiveRead + n.reused,
		Rate:         1e9 / float64(t.ticks.Period()),
		Stops:        n.byStop, WithheldTicks: t.budget.Withheld,
		Denied: n.failed[refusal.Denied], Traced: n.failed[refusal.Traced],
	}
	for _, failed := range n.failed {
		p.Failed += failed
	}
	t.control.publish(&p)
}

func (c *stopCounts) longStops() runstats.Causes {
	m := runstats.Causes{}
	for cause, l := range c.longStopsBy {
		if l.N > 0 {
			m[ptrace.Cause(cause).String()] = l
		}
	}
	return m
}
