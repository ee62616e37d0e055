// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/account/runstats"
)

// # Gaps
//
// A gap is a long time without observations, as while prywalk is stopped, gets no CPU or collects garbage. Its time is
// unobserved: it is not charged to the next observation. Ticks that the budget withholds make no gap, and neither does
// a low rate that lasts.

const (
	gapTicks   = 4     // a gap is longer than so many usual distances of ticks
	minGap     = 200e6 // ns: waiting for a busy CPU takes up to 150 ms
	usualShare = 8     // the usual distance is a mean over so many ticks
	minSleep   = 50e6  // least advance of Unix time over CLOCK_MONOTONIC that may be a suspension, ns
)

// gapDetector detects gaps. Moments are CLOCK_MONOTONIC, all times ns.
type gapDetector struct {
	report func(from, length int64) // takes each gap; or nil
	// gaps is the number of gaps, total their sum and longest the longest. suspended is how long the machine was
	// suspended since sampling began.
	gaps, total, longest int64
	suspended            int64
	lastEnd              int64 // of the last gap; 0 means none

	lastObservation int64
	lastTick        int64
	usualDistance   int64 // of ticks, ns

	unixAhead int64 // Unix time less CLOCK_MONOTONIC, ns
	sinceBoot int64 // ns
}

// begin begins detection. suspended is the suspensions since boot, ns.
func (g *gapDetector) begin(now, suspended int64) {
	*g = gapDetector{report: g.report, lastObservation: now, unixAhead: time.Now().UnixNano() - now, sinceBoot: suspended}
}

// beginTick records the start of a tick, also of a withheld one, at now. period is the present mean distance of ticks,
// ns.
func (g *gapDetector) beginTick(now, period int64) {
	if g.lastTick != 0 {
		apart := min(now-g.lastTick, gapTicks*g.usualDistance)
		g.usualDistance += (apart - g.usualDistance) / usualShare
	}
	g.lastTick, g.usualDistance = now, max(g.usualDistance, period)
}

// threshold is the longest time without an observation that is no gap, ns.
func (g *gapDetector) threshold() int64 { return max(gapTicks*g.usualDistance, minGap) }

// recordObservation returns the gap that an observation ends, as [gapDetector.endGap].
func (g *gapDetector) recordObservation(now int64) (from, length int64) {
	from, length = g.endGap(now)
	g.lastObservation = now
	return from, length
}

// endGap returns the gap that ends now. Length 0 means none.
func (g *gapDetector) endGap(now int64) (from, length int64) {
	if g.usualDistance == 0 || now-g.lastObservation <= g.threshold() {
		return 0, 0
	}
	from, length = g.lastObservation, now-g.lastObservation-g.usualDistance
	g.lastObservation = now
	g.gaps++
	g.total += length
	g.longest = max(g.longest, length)
	g.lastEnd = from + length
	if g.report != nil {
		g.report(from, length)
	}
	return from, length
}

// newSuspension returns how long the machine was suspended since the last call, ns. Unix time then runs ahead of
// CLOCK_MONOTONIC; as it may have been set, suspended returns the suspensions since boot, ns.
func (g *gapDetector) newSuspension(now, unix int64, suspended func() int64) (slept int64) {
	ahead := unix - now
	moved := ahead - g.unixAhead
	g.unixAhead = ahead
	if moved < minSleep {
		return 0
	}
	all := suspended()
	slept = all - g.sinceBoot
	if slept < minSleep {
		return 0
	}
	g.sinceBoot = all
	g.suspended += slept
	return slept
}

func (g *gapDetector) endOfLast() int64 { return g.lastEnd }

func (g *gapDetector) stats() runstats.ObservationGaps {
	return runstats.ObservationGaps{
		NotObserved: seconds(g.total), LongestGap: seconds(g.longest), Gaps: g.gaps, Suspended: seconds(g.suspended),
	}
}
