// SPDX-License-Identifier: Apache-2.0

package schedule

// # Skipped ticks
//
// With kernel samples, ticks only add clocks, sleepers, creations, ends, and stops of deep stacks. While all threads
// are steady, half to all of the ticks within maxDistance are skipped; else enough for their cost. Below 200 Hz none is
// skipped.

const (
	// Bounds of the distance of ticks, ns and periods: the kernel's buffers have room for 32 samples.
	maxDistance     = 10e6
	maxPeriodsApart = 10
	// SteadyFor is how long a steady thread must have run or slept, ns. One part in steadyShare may differ.
	SteadyFor   = 200e6
	steadyShare = 10
	// Enough ticks are skipped that they take 1/costShare of a CPU, within maxDistance; by the mean of the last
	// costTicks, each counted up to maxDistance/costShare.
	costShare = 100
	costTicks = 32
	// newFor is how long no tick is skipped after the start or end of a thread, ns.
	newFor = 1e9
)

// Clocks are a thread's clocks: CLOCK_MONOTONIC, CPU and run queue time, ns.
type Clocks struct{ Wall, CPU, RunQueue int64 }

// SteadyDetector detects a thread that has not slept for SteadyFor.
type SteadyDetector struct {
	from   Clocks // at the start of the interval that is judged next
	steady bool
}

// NoteRunning records that the thread was found running or queued. Queue time is added late, as if the thread slept.
func (s *SteadyDetector) NoteRunning(now Clocks) {
	wall := now.Wall - s.from.Wall
	asleep := wall - (now.CPU - s.from.CPU) - (now.RunQueue - s.from.RunQueue)
	switch {
	case s.from.Wall == 0:
		s.from = now
	case wall >= SteadyFor && asleep <= wall/steadyShare:
		*s = SteadyDetector{from: now, steady: true}
	case wall >= 2*SteadyFor:
		*s = SteadyDetector{from: now}
	}
}

// IsSteady reports whether the thread is steady.
func (s *SteadyDetector) IsSteady() bool { return s.steady }

// TickSkipper counts skipped ticks. The zero value is ready for use.
type TickSkipper struct {
	Skipped int64

	toSkip   int64 // ticks
	changed  int64 // CLOCK_MONOTONIC ns
	cpuUsed  int64 // ns; 0: unknown
	tickCost int64 // ns
}

// NoteThreadChange records that a thread has begun or ended.
func (t *TickSkipper) NoteThreadChange(now int64) { t.changed = max(t.changed, now) }

// MaySkip reports whether no thread has begun or ended lately.
func (t *TickSkipper) MaySkip(now int64) bool { return now-t.changed >= newFor }

// SetCPUTime sets the CPU time of all ticks so far, ns, after a tick.
func (t *TickSkipper) SetCPUTime(ns int64) {
	if cost := ns - t.cpuUsed; t.cpuUsed != 0 && cost >= 0 {
		t.tickCost += (min(cost, maxDistance/costShare) - t.tickCost) / costTicks
	}
	t.cpuUsed = ns
}

// Skip skips a random number of ticks from next on, and returns the time of the one after them; !ok: none is
// skipped, as the period is too long. Unless all threads are steady, the number depends on the cost of ticks; !ok then
// also if they are cheap.
func (t *Ticks) Skip(skipper *TickSkipper, next int64, steady bool) (after int64, ok bool) {
	most := min(int64(maxDistance)/t.period, maxPeriodsApart) - 1
	least := (most + 1) / 2
	if !steady {
		mean := min((skipper.tickCost*costShare-1)/t.period, (3*most+3)/4)
		least, most = (mean+1)/2, min(mean+mean/2, most)
	}
	if most < 1 {
		return next, false
	}
	skipper.toSkip = least + t.rng.Int64N(most-least+1)
	t.due += skipper.toSkip * t.period
	return next + skipper.toSkip*t.period, true
}

// End ends a Skip, passed ns after the last tick.
func (t *TickSkipper) End(passed, period int64) (ticks int64) {
	ticks = max(min((passed+period/2)/period-1, t.toSkip), 0)
	t.Skipped += ticks
	t.toSkip = 0
	return ticks
}
