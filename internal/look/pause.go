// SPDX-License-Identifier: Apache-2.0

package look

import (
	"time"

	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

const (
	// firstPause is how long a freeze is expected to take before any was made, in
	// nanoseconds: the usual one.
	firstPause = 30e3
	// leastPause is the shortest freeze there is, in nanoseconds: seizing,
	// interrupting and letting go alone take longer. No expectation falls below
	// it, so that a limit below it allows no freeze at all.
	leastPause = 10e3
	// pauseFades: an expectation that keeps a thread from being frozen falls by
	// 1/pauseFades each time, so that the thread is tried again some day.
	pauseFades = 256
)

// pauseLimit keeps freezes within what the user allows. What a freeze of a thread
// is expected to take comes from its own freezes; before the first, from those of
// other threads, and before any, from firstPause.
type pauseLimit struct {
	limit int64 // ns; 0: none
	usual int64 // of all freezes lately, ns; 0: none yet
}

// LimitPause makes the looker leave out freezes that are expected to take longer
// than d ([refusal.MaxPause]); 0 for no limit. Peeks and reuse go on.
func (l *Looker) LimitPause(d time.Duration) { l.pause.limit = int64(d) }

// allows reports whether a freeze of a thread may be begun.
func (p *pauseLimit) allows(t *Thread) bool {
	if p.limit <= 0 {
		return true
	}
	if t.pause == 0 {
		t.pause = p.usual
		if p.usual == 0 {
			t.pause = firstPause
		}
	}
	if t.pause <= p.limit {
		return true
	}
	t.pause = max(t.pause-t.pause/pauseFades-1, leastPause)
	return false
}

// froze takes note of a freeze's length.
func (p *pauseLimit) froze(t *Thread, ns int64) {
	t.pause = lately(t.pause, ns)
	p.usual = lately(p.usual, ns)
}

// lately is a mean in which what is long past counts less and less.
func lately(mean, ns int64) int64 {
	if mean == 0 {
		return max(ns, leastPause)
	}
	return max(mean+(ns-mean)/8, leastPause)
}

// # Who is queued
//
// A thread that waits for a processor stops when it gets one, tens of milliseconds later on a busy machine. A tracer
// that may stand still itself by then, for its CPU quota, would leave the thread standing. So it stops only who is on
// a processor at that moment ([procmem.ThreadFiles.OnProcessor]), who stops within microseconds. That favours nobody:
// time is charged to who is on a processor. The thread whose processor the tracer has taken is not, wherever the tracer
// runs; it moves from processor to processor, therefore. A thread that makes many system calls, or of which that is not
// known yet, is stopped where the tracer has taken its processor, too. Only such looks tell where it is (package skid).

// passedFor is for how long a thread may be found queued at each look until it is stopped all the same, in
// nanoseconds. What it has computed would be booked as not observed if it took longer.
const passedFor = 4e9

// OnlyOnProcessors has the looker stop only threads that are on a processor, but for one that is never found there.
// Where the kernel does not tell, all are stopped as before.
func (l *Looker) OnlyOnProcessors() { l.careful = true }

// waitsForTurn reports whether a thread is to be left alone because it is queued.
func (l *Looker) waitsForTurn(t *Thread, asleep bool) bool {
	if !l.careful || asleep {
		return false
	}
	if on, known := t.files.OnProcessor(); on || !known {
		return false
	}
	if t.skid.Basis() != sample.FewCalls && l.tracer.Judge(&t.skid, t.files, t.lastRun(), l.wake()) {
		if _, ok := t.skid.Preempted(); ok {
			return false
		}
	}
	now := procmem.Now()
	if t.passed == 0 {
		t.passed = now
	}
	return now-t.passed < passedFor
}
