// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
)

// Stats adds the statistics, once, after the tracer has ended or when it hangs.
func (t *Tracer) Stats(s *runstats.Stats) {
	t.engine.Stats(&s.Observed)
	s.Ticks, s.KernelSampled, s.UnassignedSamples = t.Tick.Number, t.EngineSamples, t.Unassigned
	t.newChildren.stats(s)
	t.counts.stats(s)
	t.pace.stats(s)
	s.ObservationGaps = runstats.ObservationGaps{
		NotObserved: seconds(t.gaps.Total), LongestGap: seconds(t.gaps.Longest), Gaps: t.gaps.Gaps,
		Suspended: seconds(t.gaps.Suspended),
	}
	t.listings.stats(s)
	t.backlog.stats(s)
	t.run.stats(s)
	s.Calls = t.counts.calls(t.run.brokenCalls, t.run.repeatedCalls)
	s.FreqAsked, s.MaxOverhead, s.Subset = t.opts.Freq, t.opts.MaxOverhead, t.opts.Subset
	s.MaxPause = runstats.Nanos(t.opts.MaxPause)
	length := t.run.length
	if begun := t.control.FirstTick(); length == 0 && begun != 0 {
		length = procmem.Now() - begun
	}
	s.Seconds = seconds(length)
	if s.Seconds > 0 {
		s.Freq = float64(s.Ticks) / s.Seconds
	}
}

func (t *Tracer) publish() {
	p := Progress{Ticks: t.Tick.Number, Sampled: t.EngineSamples, Threads: t.listings.threads()}
	t.counts.progress(&p)
	t.pace.progress(&p)
	t.control.publish(&p)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
