package tracer

import (
	"time"

	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// Stats is what a tracer did, in parts by who counts them.
type Stats struct {
	LookStats
	EngineStats
	CallStats
	FreezeStats
	LimitStats
	TimeStats
}

// LookStats count ticks and looks.
type LookStats struct {
	Ticks, MissedTicks int64
	// Attempted is the sum of Frozen, Peeked, Reused and Failed, which has the looks that gave nothing by their reason.
	Attempted, Frozen, Peeked, Reused int64
	Failed                            map[string]int64
	// Queued are the ticks at which a thread fell due whose last look was still pending: it had not been scheduled,
	// or could not stop. They are not Attempted. Inferred are the ticks at which a thread that was backed off was not
	// looked at, and its next look proved that it had not run. Unseen are those where it had.
	Queued, Inferred, Unseen int64
	ThreadsMax               int64
	// Backlog is the most bytes of copied stacks that waited at once to be walked.
	Backlog int64
}

// EngineStats tell how running threads were observed.
type EngineStats struct {
	// Engine is "ptrace", "perf", or "perf, then ptrace". EngineNote says why, and which processes were ptrace's though
	// perf was there.
	Engine, EngineNote string
	// Sampled are the kernel's samples of running threads; they are not Attempted. Claimed are those of threads that
	// ended before their clocks were read again: they are no samples of the profile, but have a claim on unseen time.
	Sampled, Claimed int64
	// LostSamples found no room in the kernel's buffers or here; they may have been other programs'. ThrottledSamples is
	// how often the kernel sampled less than asked for.
	LostSamples, ThrottledSamples int64
	// SampleStack is how many bytes of stack came with each.
	SampleStack int
}

// CallStats tell what looks did to system calls.
type CallStats struct {
	// Restarted are the system calls that a freeze broke and that began again unseen. Broken are those that gave
	// EINTR or EAGAIN to the program, because a restart would not be sound or is not allowed. Told are those of which
	// a supervisor was told twice (seccomp user notification).
	Restarted, Broken, Told int64
	// BrokenCalls and ToldCalls are these by the name of the call.
	BrokenCalls, ToldCalls map[string]int64
}

// FreezeStats tell how long threads were stopped.
type FreezeStats struct {
	// FreezeP50, P99 and Max are the lengths of freezes in nanoseconds, from
	// interrupt to detach less the time queued or at work in the kernel before the stop.
	FreezeP50, FreezeP99, FreezeMax int64
	// LongestFreeze is the freeze that took FreezeMax.
	LongestFreeze Freeze
	// Freezes are all of them by their length, in classes by powers of two.
	Freezes []Bucket
	// CopiedP50, P99 and Max are the bytes of stack that a freeze copied.
	CopiedP50, CopiedP99, CopiedMax int64
	// Long are those over look.LongFreeze (262 µs) by their causes, as [ptrace.Cause] names them.
	Long map[string]LongFreezes
	// Late are the interrupts after which a thread went on for longer than that, though it was on a processor. That is
	// no part of the freeze.
	Late LongFreezes
}

// Freeze tells of one freeze whose it was, and how many bytes of stack it copied.
type Freeze struct {
	PID, TID int
	Copied   int64
}

// LimitStats tell what the sampling was held to.
type LimitStats struct {
	// FreqAsked, MaxOverhead, MaxPause and Subset are what was asked for: the Options of those names.
	FreqAsked, MaxOverhead float64
	MaxPause               time.Duration
	Subset                 int
	// Lost is what the targets lost by being stopped, in seconds: the lengths of all
	// freezes and what a stop costs besides (10 µs each).
	Lost float64
	// Withheld are the ticks that came while targets had lost more than MaxOverhead allows: nobody was looked at.
	Withheld int64
	// NotDrawn are the looks that were due and left out at random, for Subset or for MaxOverhead.
	NotDrawn int64
	QuotaStats
}

// QuotaStats tell of the CPU quota that prywalk ran under.
type QuotaStats struct {
	// Quota is the tightest, as a share of one processor; 0 if there was none, or prywalk had a real-time priority.
	Quota float64
	// QuotaWithheld are the ticks at which nobody was looked at because too little was left of it.
	QuotaWithheld int64
	// Throttled is for how long prywalk's group stood still, in seconds, summed over the processors. FreezesThrottled
	// counts the freezes of more than a millisecond in which it did.
	Throttled        float64
	FreezesThrottled int64
}

// TimeStats tell what the run's time was.
type TimeStats struct {
	// Seconds is the time from the first tick to the last reading of the targets' clocks, Freq the ticks a second done.
	Seconds, Freq float64
	// NotObserved is for how long nobody was looked at though ticks were due, in seconds, in so many Gaps, the
	// longest of them LongestGap.
	NotObserved, LongestGap float64
	Gaps                    int64
	// Suspended is for how long the machine was suspended, in seconds; no clock of the recording runs then.
	Suspended float64
	// Scheduling is that of the tracer's OS thread: "fifo", "nice" or "normal".
	Scheduling string
}

// Stats gives what was done. It is for once, when the tracer has ended or hangs.
func (c *Tracer) Stats() Stats {
	return Stats{
		LookStats: c.lookStats(), EngineStats: c.samples.stats(&c.counts), CallStats: c.callStats(),
		FreezeStats: c.counts.freezeStats(), LimitStats: c.limitStats(), TimeStats: c.timeStats(),
	}
}

func (c *Tracer) callStats() CallStats {
	return CallStats{
		Restarted: c.counts.restarted, Broken: c.broken, Told: c.told,
		BrokenCalls: byCall(&c.callEffects.broken, c.broken), ToldCalls: byCall(&c.callEffects.told, c.told),
	}
}

func (c *counts) freezeStats() FreezeStats {
	s := FreezeStats{Late: c.late}
	if c.freezes.n > 0 {
		s.FreezeP50, s.FreezeP99, s.FreezeMax = c.freezes.quantile(0.5), c.freezes.quantile(0.99), c.freezes.max
		s.Freezes, s.Long, s.LongestFreeze = c.freezes.buckets(), c.longFreezes(), c.longest
		s.CopiedP50, s.CopiedP99, s.CopiedMax = c.copies.quantile(0.5), c.copies.quantile(0.99), c.copies.max
	}
	return s
}

func (c *Tracer) lookStats() LookStats {
	n := &c.counts
	s := LookStats{
		Ticks: n.ticks, MissedTicks: c.ticks.Missed, Attempted: n.attempted, Frozen: n.frozen, Peeked: n.peeked,
		Reused: n.reused, Failed: map[string]int64{}, Queued: n.queued, Inferred: n.inferred, Unseen: n.unseen,
		ThreadsMax: n.threadsMax, Backlog: n.backlog,
	}
	for reason, failed := range n.failed {
		if failed != 0 {
			s.Failed[look.FailReason(reason).String()] += failed
		}
	}
	return s
}

func (c *Tracer) limitStats() LimitStats {
	return LimitStats{
		FreqAsked: c.opts.Freq, MaxOverhead: c.opts.MaxOverhead, MaxPause: c.opts.MaxPause, Subset: c.opts.Subset,
		Lost: c.budget.Lost() / 1e9, Withheld: c.budget.Withheld, NotDrawn: c.subset.NotDrawn, QuotaStats: c.quota.stats(),
	}
}

func (c *Tracer) timeStats() TimeStats {
	w, ran := &c.gaps, c.ran
	if begun := c.control.Begun(); ran == 0 && begun != 0 { // it hangs
		ran = procmem.Now() - begun
	}
	s := TimeStats{
		Seconds: seconds(ran), NotObserved: seconds(w.Total), LongestGap: seconds(w.Longest), Gaps: w.Gaps,
		Suspended: seconds(w.Suspended), Scheduling: c.scheduling,
	}
	if s.Seconds > 0 {
		s.Freq = float64(c.counts.ticks) / s.Seconds
	}
	return s
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

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
