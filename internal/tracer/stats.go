// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

// Stats fills in what was done to threads. It is for once, when the tracer has ended or hangs.
func (c *Tracer) Stats(s *runstats.Stats) {
	c.lookStats(s)
	c.samples.stats(&s.Observed, &c.counts)
	c.counts.freezeStats(&s.Stopped)
	c.runStats(s)
	s.OwnQuota = c.quota.stats()
	s.Calls = runstats.Calls{
		Restarted: c.counts.restarted, Broken: c.broken, Told: c.told,
		BrokenCalls: byCall(&c.callEffects.broken, c.broken), ToldCalls: byCall(&c.callEffects.told, c.told),
	}
	s.Asked = runstats.Asked{
		FreqAsked: c.opts.Freq, MaxOverhead: c.opts.MaxOverhead, MaxPause: runstats.Nanos(c.opts.MaxPause),
		Subset: c.opts.Subset, NotDrawn: c.subset.NotDrawn,
	}
}

func (c *counts) freezeStats(s *runstats.Stopped) {
	s.Late, s.Awaited = c.late, c.awaited
	if c.freezes.n == 0 {
		return
	}
	n := c.freezes.n
	s.Freeze = runstats.Quantiles[runstats.Nanos]{
		N: n, P50: runstats.Nanos(c.freezes.quantile(0.5)), P99: runstats.Nanos(c.freezes.quantile(0.99)),
		Max: runstats.Nanos(c.freezes.max),
	}
	s.Copied = runstats.Quantiles[int64]{
		N: n, P50: c.copies.quantile(0.5), P99: c.copies.quantile(0.99), Max: c.copies.max,
	}
	s.Freezes, s.Long, s.LongestFreeze = c.freezes.buckets(), c.longFreezes(), c.longest
}

func (c *Tracer) lookStats(s *runstats.Stats) {
	n := &c.counts
	s.Looks = runstats.Looks{
		Ticks: n.ticks, MissedTicks: c.ticks.Missed, Attempted: n.attempted, Frozen: n.frozen, Peeked: n.peeked,
		Reused: n.reused, SleptAgain: n.sleptAgain,
	}
	s.Unlooked = runstats.Unlooked{
		Queued: n.queued, Inferred: n.inferred, Unseen: n.unseen, Withheld: c.budget.Withheld, LeftOut: c.rest.Ticks,
		Failed: map[string]int64{},
	}
	for reason, failed := range n.failed {
		if failed != 0 {
			s.Failed[refusal.Reason(reason).Word()] += failed
		}
	}
	s.ThreadsMax, s.Backlog = n.threadsMax, n.backlog
	s.ShortRuns, s.ShortRunsCPU = n.shortRuns, float64(n.shortRunsCPU)/1e9
}

func (c *Tracer) runStats(s *runstats.Stats) {
	w, ran := &c.gaps, c.ran
	if begun := c.control.Begun(); ran == 0 && begun != 0 { // it hangs
		ran = procmem.Now() - begun
	}
	s.Lost, s.Scheduling, s.PriorityLowered = c.budget.Lost()/1e9, c.scheduling, c.lowered
	s.Unwatched = runstats.Unwatched{
		NotObserved: seconds(w.Total), LongestGap: seconds(w.Longest), Gaps: w.Gaps, Suspended: seconds(w.Suspended),
	}
	if s.Seconds = seconds(ran); s.Seconds > 0 {
		s.Freq = float64(c.counts.ticks) / s.Seconds
	}
}

// longFreezes names the causes.
func (c *counts) longFreezes() runstats.Causes {
	m := runstats.Causes{}
	for cause, l := range c.long {
		if l.N > 0 {
			m[ptrace.Cause(cause).String()] = l
		}
	}
	return m
}
