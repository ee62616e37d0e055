// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/ptrace"
)

// # Gaps
//
// A gap is a long time without observations, as while prywalk is stopped, gets no CPU or collects garbage. Its time is
// unobserved: it is not charged to the next observation. Ticks that the budget withholds make no gap, and neither does
// a low rate that lasts.

const (
	gapTicks   = 4                      // a gap is longer than so many usual distances of ticks
	minGap     = 200 * time.Millisecond // waiting for a busy CPU takes up to 150 ms
	usualShare = 8                      // the usual distance is a mean over so many ticks
	minSleep   = 50 * time.Millisecond  // least advance of Unix time over CLOCK_MONOTONIC that may be a suspension
)

// gapDetector detects gaps.
type gapDetector struct {
	report func(from ptrace.Moment, length time.Duration) // takes each gap; or nil
	// gaps is the number of gaps, total their sum and longest the longest. suspended is how long the machine was
	// suspended since sampling began.
	gaps           int64
	total, longest time.Duration
	suspended      time.Duration
	lastEnd        ptrace.Moment // of the last gap; 0 means none

	lastObservation ptrace.Moment
	lastTick        ptrace.Moment
	usualDistance   time.Duration // of ticks

	unixAhead time.Duration // Unix time less CLOCK_MONOTONIC
	sinceBoot time.Duration
}

// begin begins detection. suspended is the suspensions since boot.
func (g *gapDetector) begin(now ptrace.Moment, suspended time.Duration) {
	ahead := time.Duration(time.Now().UnixNano() - int64(now))
	*g = gapDetector{report: g.report, lastObservation: now, unixAhead: ahead, sinceBoot: suspended}
}

// beginTick records the start of a tick, also of a withheld one, at now. period is the present mean distance of ticks.
func (g *gapDetector) beginTick(now ptrace.Moment, period time.Duration) {
	if g.lastTick != 0 {
		apart := min(now.Sub(g.lastTick), gapTicks*g.usualDistance)
		g.usualDistance += (apart - g.usualDistance) / usualShare
	}
	g.lastTick, g.usualDistance = now, max(g.usualDistance, period)
}

// threshold is the longest time without an observation that is no gap.
func (g *gapDetector) threshold() time.Duration { return max(gapTicks*g.usualDistance, minGap) }

// recordObservation returns the gap that an observation ends, as [gapDetector.endGap].
func (g *gapDetector) recordObservation(now ptrace.Moment) (from ptrace.Moment, length time.Duration) {
	from, length = g.endGap(now)
	g.lastObservation = now
	return from, length
}

// endGap returns the gap that ends now. Length 0 means none.
func (g *gapDetector) endGap(now ptrace.Moment) (from ptrace.Moment, length time.Duration) {
	if g.usualDistance == 0 || now.Sub(g.lastObservation) <= g.threshold() {
		return 0, 0
	}
	from, length = g.lastObservation, now.Sub(g.lastObservation)-g.usualDistance
	g.lastObservation = now
	g.gaps++
	g.total += length
	g.longest = max(g.longest, length)
	g.lastEnd = from.Add(length)
	if g.report != nil {
		g.report(from, length)
	}
	return from, length
}

// newSuspension returns how long the machine was suspended since the last call. Unix time then runs ahead of
// CLOCK_MONOTONIC; as it may have been set, suspended returns the suspensions since boot.
func (g *gapDetector) newSuspension(now ptrace.Moment, unix int64, suspended func() int64) (slept time.Duration) {
	ahead := time.Duration(unix - int64(now))
	moved := ahead - g.unixAhead
	g.unixAhead = ahead
	if moved < minSleep {
		return 0
	}
	all := time.Duration(suspended())
	slept = all - g.sinceBoot
	if slept < minSleep {
		return 0
	}
	g.sinceBoot = all
	g.suspended += slept
	return slept
}

func (g *gapDetector) endOfLast() ptrace.Moment { return g.lastEnd }

func (g *gapDetector) stats() runstats.ObservationGaps {
	return runstats.ObservationGaps{
		NotObserved: seconds(g.total), LongestGap: seconds(g.longest), Gaps: g.gaps, Suspended: seconds(g.suspended),
	}
}
