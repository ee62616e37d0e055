package sampler

import (
	"time"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/look"
	"prywalk/ptrace"
)

// conclude makes the result of a run from what its parts counted.
func (s *Sampler) conclude(c *tracer, a *accountant) {
	r, n := &s.result, &c.counts
	r.Ticks, r.MissedTicks = n.ticks, c.ticks.Missed
	r.Attempted, r.Frozen, r.Peeked, r.Reused, r.Queued = n.attempted, n.frozen, n.peeked, n.reused, n.queued
	c.samples.conclude(r, n)
	r.Inferred, r.Unseen, r.Backlog = n.inferred, n.unseen, n.backlog
	r.Restarted, r.ThreadsMax = n.restarted, n.threadsMax
	r.BrokenCalls, r.ToldCalls = byCall(&c.harm.broken, r.Broken), byCall(&c.harm.told, r.Told)
	r.Failed = named(n.failed[:], func(i int) string { return look.FailReason(i).String() })
	stops := s.totals.stops
	r.Stacks = s.totals.stacks
	r.FrozenWhole, r.PeekedWhole = s.totals.whole[look.ByFreeze], s.totals.whole[look.ByPeek]
	stops[frames.StopRoot] = 0
	r.Incomplete = named(stops[:], func(i int) string { return frames.StopReason(i).String() })
	r.FramesByMethod = named(a.unwind.methods[:], func(i int) string { return frames.Method(i).String() })
	if n.freezes.n > 0 {
		r.FreezeP50, r.FreezeP99, r.FreezeMax = n.freezes.quantile(0.5), n.freezes.quantile(0.99), n.freezes.max
		r.Freezes, r.Long, r.LongestFreeze = n.freezes.buckets(), n.longFreezes(), n.longest
		r.CopiedP50, r.CopiedP99, r.CopiedMax = n.copies.quantile(0.5), n.copies.quantile(0.99), n.copies.max
	}
	r.Lost, r.Withheld, r.Rates = c.budget.Lost()/1e9, c.budget.Withheld, a.rates.list
	if begun := s.begun.Load(); begun != 0 {
		r.Begun = time.Unix(0, a.unix.Of(begun))
	}
	if r.Seconds > 0 {
		r.Freq = float64(n.ticks) / r.Seconds
	}
	w := &c.gaps
	r.Gaps, r.NotObserved, r.LongestGap = w.Gaps, seconds(w.Total), seconds(w.Longest)
	r.Suspended = seconds(w.Suspended)
	r.FreqAsked, r.MaxOverhead, r.MaxPause = s.opts.Freq, s.opts.MaxOverhead, s.opts.MaxPause
	r.Samples, r.Complete = s.totals.samples, s.totals.complete
	r.SlowestThread, r.SlowestTID = a.rates.slowest, a.rates.slowestTID
	r.TargetCPU, r.ProfiledCPU = seconds(s.totals.target), seconds(s.totals.profiled)
	r.UnobservedCPU, r.ExitedUnseenCPU = seconds(s.totals.unobserved), seconds(s.totals.exitedUnseen)
	r.ShortLivedCPU = seconds(s.totals.shortLived)
	r.EstimatedCPU = seconds(s.totals.estimated)
	c.quota.tell(r)
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		r.SelfCPU = seconds(ru.Utime.Nano() + ru.Stime.Nano())
	}
}

// longFreezes names the causes.
func (c *counts) longFreezes() map[string]LongFreezes {
	m := map[string]LongFreezes{}
	for cause, l := range c.long {
		if l.N > 0 {
			m[ptrace.Cause(cause).String()] = l
		}
	}
	return m
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
