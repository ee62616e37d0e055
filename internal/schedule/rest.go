// SPDX-License-Identifier: Apache-2.0

package schedule

// # Ticks that would tell nothing
//
// Where the kernel samples who runs, ticks tell the rest: the clocks, where sleepers sleep, who was born and who
// ended. If all threads have done the same for a while, the next tick tells no more than the clocks, and these are
// sums. So some are left out then, never more than fit restFor. Whoever begins to sleep, to wake or to be born is met
// that much later, once. From then on ticks come at their rate, until all is steady again.
//
// Where threads that wait for each other start and stop all the time, nothing is steady, and each tick reads the clocks
// of most of them. It preempts somebody for that, and if that one holds what others wait for, they wait, too. So many
// are left out there that ticks take one part in costShare of a processor. The kernel's samples need no clock that is
// near (package attribute), and who sleeps where is told by fewer looks.
//
// What steady means: a thread that runs had next to no time asleep for SteadyFor, and was not met asleep; one that
// sleeps has slept for as long. Nobody was born, and nobody has ended, for longer than that.

const (
	// restFor is how far two ticks are apart at most by that, in nanoseconds.
	restFor = 10e6
	// mostApart is how many periods they are apart at most: the kernel's buffers have room for 32 samples.
	mostApart = 10
	// SteadyFor is for how long a thread must have done the same, in nanoseconds. steadyShare: one part in so many of it
	// may be sleep. A running thread's clock can lag by a tick of the kernel's, of 10 ms at most.
	SteadyFor   = 200e6
	steadyShare = 10
	// costShare: ticks take no more than one part in so many of a processor, unless they are restFor apart. What one takes
	// is a mean in which the last costTicks count most, so that what one tick meets says nothing of when the next comes.
	costShare = 100
	costTicks = 32
	// bornFor is for how long nobody must have been born or have ended, in nanoseconds.
	bornFor = 1e9
)

// Clocks are what a thread's clocks show: CLOCK_MONOTONIC, its time on a processor, its time waiting for one. In
// nanoseconds.
type Clocks struct{ Wall, CPU, RunQueue int64 }

// Steady tells whether a thread runs on and on. The zero value is for one that was not found running.
type Steady struct {
	from Clocks
	is   bool
}

// Runs takes note that the thread was found running, or waiting for a processor. Of one that waits the kernel books
// that when it gets one: until then it seems to have slept. So what seems to be sleep counts once it has lasted.
func (s *Steady) Runs(now Clocks) {
	wall := now.Wall - s.from.Wall
	asleep := wall - (now.CPU - s.from.CPU) - (now.RunQueue - s.from.RunQueue)
	switch {
	case s.from.Wall == 0:
		s.from = now
	case wall >= SteadyFor && asleep <= wall/steadyShare:
		*s = Steady{from: now, is: true}
	case wall >= 2*SteadyFor:
		*s = Steady{from: now}
	}
}

// Is reports whether it does.
func (s *Steady) Is() bool { return s.is }

// Rest counts the ticks that are left out. The zero value is ready for use.
type Rest struct {
	// Ticks is how many were left out so far.
	Ticks int64

	left    int64 // after the last tick
	changed int64 // when a thread was born or ended last, CLOCK_MONOTONIC ns
	used    int64 // processor time as of the last tick, ns; 0: not known
	cost    int64 // what a tick takes of it, ns
}

// Changed takes note that a thread was born or has ended.
func (r *Rest) Changed(now int64) { r.changed = max(r.changed, now) }

// May reports whether ticks may be left out at a moment, as far as births and ends go.
func (r *Rest) May(now int64) bool { return now-r.changed >= bornFor }

// Used takes note of how much processor time the ticks have used so far, in nanoseconds. It is to be called after each.
func (r *Rest) Used(ns int64) {
	if cost := ns - r.used; r.used != 0 && cost >= 0 {
		r.cost += (min(cost, restFor/costShare) - r.cost) / costTicks
	}
	r.used = ns
}

// LeaveOut leaves out some of the ticks before that of the moment next, and gives the moment of the one after them. How
// many is drawn, so that ticks do not beat with periodic work. ok is false if the period is too long for that.
func (s *Ticks) LeaveOut(r *Rest, next int64) (after int64, ok bool) {
	most := min(int64(restFor)/s.period, mostApart) - 1
	if most < 1 {
		return next, false
	}
	return s.leaveOut(r, next, (most+1)/2, most), true
}

// LeaveOutCostly is LeaveOut of as many ticks as ticks are costly.
func (s *Ticks) LeaveOutCostly(r *Rest, next int64) (after int64, ok bool) {
	most := min(int64(restFor)/s.period, mostApart) - 1
	mean := min((r.cost*costShare-1)/s.period, (3*most+3)/4)
	if mean < 1 {
		return next, false
	}
	return s.leaveOut(r, next, (mean+1)/2, min(mean+mean/2, most)), true
}

// leaveOut leaves out so many at least and at most.
func (s *Ticks) leaveOut(r *Rest, next, least, most int64) (after int64) {
	r.left = least + s.rng.Int64N(most-least+1)
	s.n += r.left
	return next + r.left*s.period
}

// Over ends what LeaveOut began: this many ns have passed since the last tick. It gives how many ticks were left out,
// which may be fewer than were to be.
func (r *Rest) Over(passed, period int64) (ticks int64) {
	ticks = max(min((passed+period/2)/period-1, r.left), 0)
	r.Ticks += ticks
	r.left = 0
	return ticks
}
