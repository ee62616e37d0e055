// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

// # Gaps
//
// A look stands for the time since the thread's last one. That holds while ticks come about as they are asked for.
// Sometimes prywalk itself does not get to look for long: it is stopped, it gets no processor, it collects garbage,
// or the accountant is far behind. The first look after that would be charged with all of it. So such a gap is not
// observed, and one usual distance between two ticks stays with the look (package attribute, Clock.Skip).
//
// Ticks that a budget withholds are no gap. Neither is a rate that is lower than what was asked for, once it lasts:
// a gap is one against the usual distance of ticks lately. The tracer alone decides here what a gap is.

const (
	// fewTicks is how many usual distances between ticks may pass without a look.
	fewTicks = 4
	// leastGap is the shortest gap, in nanoseconds. Whoever waits for a busy processor waits for up to 150 ms now and
	// then (seen at start-up on two busy processors). Such a tick is late, and its look stands for more than others.
	leastGap = 200e6
	// usualShare is how slowly the usual distance follows, in ticks.
	usualShare = 8
	// leastSleep is by how much Unix time must run ahead of CLOCK_MONOTONIC between two ticks before it is asked
	// whether the machine was suspended, in nanoseconds.
	leastSleep = 50e6
)

// GapDetector notices when nobody looks. Times are CLOCK_MONOTONIC in nanoseconds.
type GapDetector struct {
	// Gaps is how many there were so far, Total their sum and Longest the longest.
	Gaps, Total, Longest int64
	// Suspended is for how long the machine was suspended since sampling began.
	Suspended int64

	looked int64 // when it was last certain that somebody looks
	ticked int64 // when the last tick began
	usual  int64 // how far ticks have been apart lately

	ahead     int64 // by how much Unix time was ahead at the last tick
	sinceBoot int64 // for how long the machine has been suspended since its boot
}

// Begin begins to watch. suspended is for how long the machine has been suspended since its boot.
func (w *GapDetector) Begin(now, suspended int64) {
	*w = GapDetector{looked: now, ahead: time.Now().UnixNano() - now, sinceBoot: suspended}
}

// Tick takes note of a tick's beginning, with the period asked for at present. One that is withheld on purpose
// counts.
func (w *GapDetector) Tick(now, period int64) {
	if w.ticked != 0 {
		apart := min(now-w.ticked, fewTicks*w.usual)
		w.usual += (apart - w.usual) / usualShare
	}
	w.ticked, w.usual = now, max(w.usual, period)
}

// Patience is how long nobody may look before that is a gap.
func (w *GapDetector) Patience() int64 { return max(fewTicks*w.usual, leastGap) }

// Looked takes note that threads are looked at now, and gives the gap that this ends, as [GapDetector.Ended].
func (w *GapDetector) Looked(now int64) (from, length int64) {
	from, length = w.Ended(now)
	w.looked = now
	return from, length
}

// Ended gives the gap that has ended at a moment at which somebody looks: where it began and its length, 0 if there
// was none.
func (w *GapDetector) Ended(now int64) (from, length int64) {
	if w.usual == 0 || now-w.looked <= w.Patience() {
		return 0, 0
	}
	from, length = w.looked, now-w.looked-w.usual
	w.looked = now
	w.Gaps++
	w.Total += length
	w.Longest = max(w.Longest, length)
	return from, length
}

// WokeUp gives for how long the machine was suspended since the last call, 0 if it was not. CLOCK_MONOTONIC and the
// threads' clocks stand still meanwhile, so that nobody's time passes. Unix time goes on. The kernel is asked
// (suspended) only where that has run ahead: somebody may have set it.
func (w *GapDetector) WokeUp(now, unix int64, suspended func() int64) (slept int64) {
	ahead := unix - now
	moved := ahead - w.ahead
	w.ahead = ahead
	if moved < leastSleep {
		return 0
	}
	all := suspended()
	if slept = all - w.sinceBoot; slept < leastSleep {
		return 0
	}
	w.sinceBoot = all
	w.Suspended += slept
	return slept
}
