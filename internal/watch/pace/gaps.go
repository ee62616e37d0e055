// SPDX-License-Identifier: Apache-2.0

package pace

import "time"

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

// GapDetector detects gaps. Moments are CLOCK_MONOTONIC, all times ns.
type GapDetector struct {
	Report func(from, length int64) // takes each gap; or nil
	// Gaps is the number of gaps, Total their sum and Longest the longest. Suspended is how long the machine was
	// suspended since sampling began.
	Gaps, Total, Longest int64
	Suspended            int64
	LastEnd              int64 // of the last gap; 0: none

	lastObservation int64
	lastTick        int64
	usualDistance   int64 // of ticks, ns

	unixAhead int64 // Unix time less CLOCK_MONOTONIC, ns
	sinceBoot int64 // ns
}

// Begin begins detection. suspended is the suspensions since boot, ns.
func (g *GapDetector) Begin(now, suspended int64) {
	*g = GapDetector{Report: g.Report, lastObservation: now, unixAhead: time.Now().UnixNano() - now, sinceBoot: suspended}
}

// BeginTick records the start of a tick, also of a withheld one, at now. period is the present mean distance of ticks,
// ns.
func (g *GapDetector) BeginTick(now, period int64) {
	if g.lastTick != 0 {
		apart := min(now-g.lastTick, gapTicks*g.usualDistance)
		g.usualDistance += (apart - g.usualDistance) / usualShare
	}
	g.lastTick, g.usualDistance = now, max(g.usualDistance, period)
}

// Threshold is the longest time without an observation that is no gap, ns.
func (g *GapDetector) Threshold() int64 { return max(gapTicks*g.usualDistance, minGap) }

// NoteObservation returns the gap that an observation ends, as [GapDetector.EndGap].
func (g *GapDetector) NoteObservation(now int64) (from, length int64) {
	from, length = g.EndGap(now)
	g.lastObservation = now
	return from, length
}

// EndGap returns the gap that ends now. Length 0: none.
func (g *GapDetector) EndGap(now int64) (from, length int64) {
	if g.usualDistance == 0 || now-g.lastObservation <= g.Threshold() {
		return 0, 0
	}
	from, length = g.lastObservation, now-g.lastObservation-g.usualDistance
	g.lastObservation = now
	g.Gaps++
	g.Total += length
	g.Longest = max(g.Longest, length)
	g.LastEnd = from + length
	if g.Report != nil {
		g.Report(from, length)
	}
	return from, length
}

// NewSuspension returns how long the machine was suspended since the last call, ns. Unix time then runs ahead of
// CLOCK_MONOTONIC; as it may have been set, suspended returns the suspensions since boot, ns.
func (g *GapDetector) NewSuspension(now, unix int64, suspended func() int64) (slept int64) {
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
	g.Suspended += slept
	return slept
}
