// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/attribute"
	"prywalk/internal/pace"
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
	"prywalk/internal/target"
)

// gaps reports long times without observations ([pace.GapDetector]), and suspensions. Times are CLOCK_MONOTONIC ns.
type gaps struct {
	out      *target.Outbox
	detector pace.GapDetector
	lastEnd  int64 // end of the last gap, CLOCK_MONOTONIC ns
}

func (g *gaps) begin(now int64) { g.detector.Begin(now, procmem.Suspended()) }

// beginTick begins a tick; period is the mean distance of ticks, ns.
func (g *gaps) beginTick(now, period int64) {
	g.noteObservation(now)
	g.detector.BeginTick(now, period)
}

func (g *gaps) noteObservation(now int64) { g.report(g.detector.NoteObservation(now)) }

func (g *gaps) endGap(now int64) { g.report(g.detector.EndGap(now)) }

func (g *gaps) report(from, length int64) {
	if length > 0 {
		g.lastEnd = from + length
		g.out.Add(target.Event{What: &attribute.NotObservedFor{At: from, Length: length}})
	}
}

func (g *gaps) lastGapEnd() int64 { return g.lastEnd }

func (g *gaps) suspension(now int64) int64 {
	return g.detector.NewSuspension(now, time.Now().UnixNano(), procmem.Suspended)
}

// gapThreshold is [pace.GapDetector.Threshold], ns.
func (g *gaps) gapThreshold() int64 { return g.detector.Threshold() }

func (g *gaps) stats(s *runstats.Stats) {
	d := &g.detector
	s.ObservationGaps = runstats.ObservationGaps{
		NotObserved: seconds(d.Total), LongestGap: seconds(d.Longest), Gaps: d.Gaps, Suspended: seconds(d.Suspended),
	}
}
